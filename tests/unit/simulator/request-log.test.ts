import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SimulatorOptions, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { ask, askForError, post, SkippingClock, StoppedClock } from './simulator-client.ts';

async function openLogged(options: SimulatorOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'thrice-simulator-'));
  const log = join(folder, 'calls.jsonl');
  const simulator = await startSimulator({ clock: new SkippingClock(), ...options, log });
  const readLines = async () =>
    (await readFile(log, 'utf8'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  return {
    simulator,
    log,
    readLines,
    /** Closes the simulator first, because only then has every request ended. */
    finish: async () => {
      await simulator.close();
      return await readLines();
    },
    [Symbol.asyncDispose]: async () => {
      await simulator.close();
      await rm(folder, { recursive: true });
    },
  };
}

describe('the request log', () => {
  it('has a line per request with its cell key and a digest of the question', async () => {
    await using logged = await openLogged();
    const cell = 'g-r1/direct/snarks%2F88/answer';
    await ask(logged.simulator, { text: 'Intro\n\nQ: Is it?\nA:', model: 'lab/m', cell });

    const lines = await logged.finish();

    expect(lines).toEqual([
      {
        at: '2026-01-02T03:04:05.000Z',
        cell,
        model: 'lab/m',
        arm: 'direct',
        question: createHash('sha256').update('Is it?').digest('hex').slice(0, 16),
        status: 200,
        fault: null,
        ok: true,
      },
    ]);
  });

  it('is written while the server runs, in the order in which requests end', async () => {
    await using logged = await openLogged();
    for (const cell of ['a', 'b', 'c']) await ask(logged.simulator, { text: 'q', cell });
    // Lines are written within a turn of the event loop; this request takes several turns.
    await fetch(`${logged.simulator.url}/models`);

    const lines = await logged.readLines();

    expect(lines).toMatchObject([{ cell: 'a' }, { cell: 'b' }, { cell: 'c' }]);
  });

  it('loses nothing under load', async () => {
    await using logged = await openLogged();
    const cells = Array.from({ length: 500 }, (_, index) => `cell-${index}`);
    await Promise.all(cells.map((cell) => ask(logged.simulator, { text: 'q', cell })));

    const lines = await logged.finish();

    expect(lines).toHaveLength(500);
    expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(500);
  });

  it('continues an existing file', async () => {
    await using logged = await openLogged();
    await ask(logged.simulator, { text: 'q', cell: 'first' });
    await logged.simulator.close();
    const second = await startSimulator({ log: logged.log });
    await ask(second, { text: 'q', cell: 'second' });
    await second.close();

    expect(await logged.readLines()).toMatchObject([{ cell: 'first' }, { cell: 'second' }]);
  });

  it('distinguishes errors and faults from answers', async () => {
    await using logged = await openLogged({
      recordings: [{ question: 'q', arm: 'direct', prediction: '' }],
      faults: {
        seed: 1,
        faults: [
          { kind: 'rate-limit', requests: [1, 1] },
          { kind: 'reset', requests: [2, 2] },
          { kind: 'reset', requests: [3, 3], afterBytes: 10 },
          { kind: 'hang', requests: [4, 4], seconds: 5 },
          { kind: 'usage-limit', requests: [5, 5] },
          { kind: 'drip', requests: [6, 6], seconds: 5 },
        ],
      },
    });
    const { simulator } = logged;
    await askForError(simulator, { text: 'q' });
    await expect(post(simulator, { text: 'q' })).rejects.toThrow('fetch failed');
    await expect(ask(simulator, { text: 'q' })).rejects.toThrow('terminated');
    await expect(post(simulator, { text: 'q' })).rejects.toThrow('fetch failed');
    await ask(simulator, { text: 'q' });
    await ask(simulator, { text: 'q' });
    await ask(simulator, { text: 'q' });
    await askForError(simulator, { text: 'unknown' });

    const lines = await logged.finish();

    expect(lines).toMatchObject([
      { status: 429, fault: 'rate-limit', ok: false },
      { status: null, fault: 'reset', ok: false },
      { status: 200, fault: 'reset', ok: false },
      { status: null, fault: 'hang', ok: false },
      { status: 200, fault: 'usage-limit', ok: false },
      { status: 200, fault: 'drip', ok: true },
      { status: 200, fault: null, ok: true },
      { status: 400, fault: null, ok: false },
    ]);
    expect(JSON.stringify(lines)).not.toContain('aborted');
  });

  it('marks a request whose client disconnected as aborted', async () => {
    const controller = new AbortController();
    await using logged = await openLogged({
      behaviour: { seed: 1, models: { '*': { accuracy: 1, latencyMs: { fixed: 1000 } } } },
      clock: new StoppedClock(() => controller.abort()),
    });
    const { signal } = controller;
    await expect(ask(logged.simulator, { text: 'q', signal })).rejects.toThrow('aborted');

    const lines = await logged.finish();

    expect(lines).toMatchObject([{ status: null, fault: null, ok: false, aborted: true }]);
  });

  it('marks a request whose client disconnected in the middle of the body as aborted', async () => {
    const controller = new AbortController();
    await using logged = await openLogged({
      clock: new StoppedClock(),
      faults: { seed: 1, faults: [{ kind: 'drip', seconds: 60 }] },
    });
    const response = await post(logged.simulator, { text: 'q', signal: controller.signal });
    controller.abort();
    await expect(response.text()).rejects.toThrow('aborted');

    const lines = await logged.finish();

    expect(lines).toMatchObject([{ status: 200, fault: 'drip', ok: false, aborted: true }]);
    expect(logged.simulator.stats().okCount).toBe(0);
  });

  it('has nulls for a request that cannot be parsed', async () => {
    await using logged = await openLogged();
    const url = `${logged.simulator.url}/chat/completions`;
    await (await fetch(url, { method: 'POST', body: '{' })).text();

    const lines = await logged.finish();

    expect(lines).toMatchObject([
      { cell: null, model: null, arm: null, question: null, status: 400, ok: false },
    ]);
  });

  it('fails to open if it is not writable', async () => {
    await expect(startSimulator({ log: '/nowhere/at/all/log.jsonl' })).rejects.toMatchObject({
      code: 'invalid-file',
      message:
        "/nowhere/at/all/log.jsonl: cannot be opened for writing: ENOENT: no such file or directory, open '/nowhere/at/all/log.jsonl'",
    });
  });
});
