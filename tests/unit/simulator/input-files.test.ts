import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ThriceError } from '@thrice/core';
import { loadBehaviour, loadFaults, loadRecordings } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';

async function openFolder(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'thrice-simulator-'));
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return {
    folder,
    at: (name: string) => join(folder, name),
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true }),
  };
}

/** Returns the problems a loader finds in a file, without the folder in their paths. */
async function problemsWith(
  load: (path: string) => Promise<unknown>,
  files: Readonly<Record<string, string>>,
  name: string,
): Promise<readonly string[]> {
  await using folder = await openFolder(files);
  try {
    await load(folder.at(name));
  } catch (error) {
    if (!(error instanceof ThriceError) || error.code !== 'invalid-file') throw error;
    const { problems = [] } = error.details;
    expect(error.message).toBe(problems.join('\n'));
    return problems.map((problem) => problem.replaceAll(`${folder.folder}/`, ''));
  }
  throw new Error('The file was accepted.');
}

const row = (value: unknown) => `${JSON.stringify(value)}\n`;

describe('loadRecordings', () => {
  it('reads the rows of a file, with "direct" as the default arm', async () => {
    await using folder = await openFolder({
      'r.jsonl': `${row({ question: 'q', prediction: '', id: 7 })}\n${row({ question: 'q', arm: 'cot', prediction: 'p', finishReason: 'stop' })}`,
    });

    const recordings = await loadRecordings(folder.at('r.jsonl'));

    expect(recordings).toEqual([
      { question: 'q', arm: 'direct', prediction: '' },
      { question: 'q', arm: 'cot', prediction: 'p', finishReason: 'stop' },
    ]);
  });

  it('reads a folder with any subset of subtasks and arms', async () => {
    await using folder = await openFolder({
      'bbh_questions.jsonl':
        row({ subtask: 's', index: 0, input: 'a', target: '1' }) +
        row({ subtask: 's', index: 1, input: 'b', target: '2', prompt_input: 'b in full' }),
      'codex_cot.jsonl': row({ subtask: 's', index: 1, target: '2', prediction: 'p' }),
    });

    const recordings = await loadRecordings(folder.folder);

    expect(recordings).toEqual([
      { question: 'b', arm: 'cot', prediction: 'p' },
      { question: 'b in full', arm: 'cot', prediction: 'p' },
    ]);
  });

  it('reports line, key, expected and received for every invalid row', async () => {
    const problems = await problemsWith(
      loadRecordings,
      {
        'r.jsonl':
          row({ question: 'q', prediction: 'p' }) +
          row({ question: 'q' }) +
          '{"question": \n' +
          row({ question: 7, arm: 'both', prediction: 'p' }),
      },
      'r.jsonl',
    );

    expect(problems).toEqual([
      'r.jsonl:2: prediction: expected a text, received nothing',
      'r.jsonl:3: expected JSON (column 13: Unexpected end of JSON input)',
      'r.jsonl:4: question: expected a text, received 7; write it between quotation marks',
      'r.jsonl:4: arm: expected "direct" or "cot", received "both"',
    ]);
  });

  it('accepts a question twice only with the same prediction', async () => {
    const files = {
      'r.jsonl':
        row({ question: 'q', prediction: 'p' }) +
        row({ question: 'q', prediction: 'p' }) +
        row({ question: 'q', prediction: 'other' }),
    };

    const problems = await problemsWith(loadRecordings, files, 'r.jsonl');

    expect(problems).toEqual([
      'r.jsonl:3: expected the prediction recorded for the same question and arm at r.jsonl:1, received another',
    ]);
  });

  it('rejects a prediction for an unknown question', async () => {
    const files = {
      'bbh/bbh_questions.jsonl': row({ subtask: 's', index: 0, input: 'a' }),
      'bbh/codex_direct.jsonl': row({ subtask: 's', index: 1, prediction: 'p' }),
    };

    const problems = await problemsWith(loadRecordings, files, 'bbh');

    expect(problems).toEqual([
      'bbh/codex_direct.jsonl:1: expected a question of bbh_questions.jsonl, received s/1',
    ]);
  });

  it('rejects a folder without predictions', async () => {
    const files = { 'bbh/bbh_questions.jsonl': row({ subtask: 's', index: 0, input: 'a' }) };

    const problems = await problemsWith(loadRecordings, files, 'bbh');

    expect(problems).toEqual([
      'bbh: expected codex_direct.jsonl or codex_cot.jsonl beside bbh_questions.jsonl, found neither',
    ]);
  });

  it('names the file it cannot read', async () => {
    const problems = await problemsWith(loadRecordings, {}, 'absent.jsonl');

    expect(problems).toEqual(['absent.jsonl: no such file; check the path']);
  });

  it('lists the first twenty problems and counts the rest', async () => {
    const files = { 'r.jsonl': row({ question: 'q' }).repeat(25) };

    await using folder = await openFolder(files);
    const loading = loadRecordings(folder.at('r.jsonl'));

    const line = (number: number) =>
      `${folder.at('r.jsonl')}:${number}: prediction: expected a text, received nothing`;
    const lines = Array.from({ length: 20 }, (_, index) => line(index + 1));
    await expect(loading).rejects.toMatchObject({ message: [...lines, 'and 5 more'].join('\n') });
  });
});

describe('loadBehaviour', () => {
  it('reads models by name', async () => {
    const behaviour = {
      seed: 7,
      models: {
        '*': {
          accuracy: 0.8,
          latencyMs: { median: 300, p99: 1200 },
          outputTokens: { median: 40 },
          reasoningTokens: { fixed: 0 },
          unparsedRate: 0.01,
          style: 'sentence',
        },
      },
    };
    await using folder = await openFolder({ 'b.json': JSON.stringify(behaviour) });

    expect(await loadBehaviour(folder.at('b.json'))).toEqual(behaviour);
  });

  it.each<[string, unknown, string[]]>([
    [
      'an impossible share',
      { seed: 1, models: { m: { accuracy: 2 } } },
      ['b.json: models.m.accuracy: expected a number <= 1, received 2'],
    ],
    [
      'an unknown key',
      { seed: 1, models: { m: { accuracy: 1, acuracy: 1 } } },
      ['b.json: models.m.acuracy: unknown key; did you mean "accuracy"?'],
    ],
    [
      'a distribution with p99 below the median',
      { seed: 1, models: { m: { accuracy: 1, latencyMs: { median: 300, p99: 200 } } } },
      ['b.json: models.m.latencyMs: expected p99 >= median, received {"median":300,"p99":200}'],
    ],
    [
      'a latency that is not a distribution',
      { seed: 1, models: { m: { accuracy: 1, latencyMs: 300 } } },
      [
        'b.json: models.m.latencyMs: expected {"fixed": n} or {"median": n, "p99"?: n}, n >= 0, received 300',
      ],
    ],
    [
      'a file without models',
      { seed: 1, models: {} },
      ['b.json: models: expected at least one model, received {}'],
    ],
    [
      'a missing seed',
      { models: { m: { accuracy: 1 } } },
      ['b.json: seed: expected a number, received nothing'],
    ],
  ])('rejects %s', async (_name, value, expected) => {
    const files = { 'b.json': JSON.stringify(value) };

    expect(await problemsWith(loadBehaviour, files, 'b.json')).toEqual(expected);
  });
});

describe('loadFaults', () => {
  it('reads every kind with its parameters and conditions', async () => {
    const faults = {
      seed: 7,
      faults: [
        { kind: 'rate-limit', rate: 0.1, retryAfterSeconds: 2 },
        { kind: 'quota', requests: [10, 20], resetSeconds: 30 },
        { kind: 'quota', window: { requests: 2000, seconds: 60 } },
        { kind: 'unauthorized', model: 'm' },
        { kind: 'server-error', status: 503, count: 3 },
        { kind: 'overloaded', seconds: [0, 5] },
        { kind: 'reset', afterBytes: 100, maxPerQuestion: 2 },
        { kind: 'hang', seconds: 5, betweenSeconds: [1] },
        { kind: 'drip', seconds: 5 },
        { kind: 'truncated-json', requests: [3] },
        { kind: 'empty-content' },
        { kind: 'usage-limit', resetSeconds: 60 },
        { kind: 'wrong-model', servedModel: 'other' },
      ],
    };
    await using folder = await openFolder({ 'f.json': JSON.stringify(faults) });

    expect(await loadFaults(folder.at('f.json'))).toEqual(faults);
  });

  it('reads a rate limit that changes', async () => {
    const change = { afterSeconds: 60, requestsPerMinute: 600 };
    const rateLimit = { requestsPerMinute: 1200, maxConcurrency: 8, headers: 'openai', change };
    const faults = { seed: 7, faults: [], rateLimit };
    await using folder = await openFolder({ 'f.json': JSON.stringify(faults) });

    expect(await loadFaults(folder.at('f.json'))).toEqual(faults);
  });

  it.each<[string, unknown, string]>([
    [
      'without a time',
      { requestsPerMinute: 6 },
      'change: expected afterSeconds or afterRequests, received {"requestsPerMinute":6}',
    ],
    [
      'of another limit',
      { afterRequests: 5, tokensPerMinute: 6 },
      'change: expected only limits that the rate limit has',
    ],
  ])('rejects a change of a rate limit %s', async (_name, change, expected) => {
    const faults = { seed: 7, faults: [], rateLimit: { requestsPerMinute: 60, change } };
    const files = { 'f.json': JSON.stringify(faults) };

    const [problem] = await problemsWith(loadFaults, files, 'f.json');

    expect(problem).toContain(expected);
  });

  it.each<[string, unknown, string[]]>([
    [
      'an unknown kind',
      { kind: 'explode' },
      [
        'f.json: faults[0].kind: expected "rate-limit", "quota", "unauthorized", "server-error", "overloaded", "reset", "hang", "drip", "truncated-json", "empty-content", "usage-limit", "wrong-model", "content-filter", "no-choices" or "error-object", received "explode"',
      ],
    ],
    [
      'a share above one',
      { kind: 'reset', rate: 1.5 },
      ['f.json: faults[0].rate: expected a number <= 1, received 1.5'],
    ],
    [
      "another kind's parameter",
      { kind: 'unauthorized', status: 500 },
      [
        'f.json: faults[0].status: unknown key (expected kind, rate, count, requests, model, maxPerQuestion, window, seconds)',
      ],
    ],
    [
      'a reversed range',
      { kind: 'reset', requests: [5, 2] },
      ['f.json: faults[0].requests: expected [from, to] with to >= from, received [5,2]'],
    ],
    [
      'a status that is not a server error',
      { kind: 'server-error', status: 404 },
      ['f.json: faults[0].status: expected a number >= 500, received 404'],
    ],
    [
      'a drip without its duration',
      { kind: 'drip' },
      ['f.json: faults[0].seconds: expected a number, received nothing'],
    ],
  ])('rejects %s', async (_name, fault, expected) => {
    const files = { 'f.json': JSON.stringify({ seed: 1, faults: [fault] }) };

    expect(await problemsWith(loadFaults, files, 'f.json')).toEqual(expected);
  });

  it('rejects what is not JSON', async () => {
    const problems = await problemsWith(loadFaults, { 'f.json': 'seed = 7' }, 'f.json');

    expect(problems).toEqual(["f.json: expected JSON (column 1: Unexpected token 's')"]);
  });
});
