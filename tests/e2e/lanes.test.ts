import { readFile, writeFile } from 'node:fs/promises';
import type { Summary } from '@thrice/core';
import type { Fault } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import type { ConfigSummary } from '../../packages/core/src/results/summary.ts';
import { additions, toJsonl } from '../support/additions.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { aCompletion, sendJson, startHttpServer } from '../support/http-server.ts';
import {
  committedKeys,
  discardReasons,
  endWaits,
  openBreakerKeys,
} from '../support/ledger-view.ts';
import { repair, requestsOf, startServer } from '../support/model-servers.ts';
import {
  groupOf,
  type Outcome,
  printedGroup,
  runThrice,
  startThrice,
} from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

/** Creates a folder with a spec over the first `count` additions. */
function benchmarkFolder(own: {
  readonly count: number;
  readonly lanes: Readonly<Record<string, object>>;
  readonly configs: readonly object[];
  readonly top?: object;
}): Promise<TemporaryFolder> {
  const { count, lanes, configs, top } = own;
  const spec = { questions: 'questions.jsonl', parallel: 8, lanes, configs, ...top };
  return temporaryFolder({
    'sums.json': JSON.stringify(spec),
    'questions.jsonl': toJsonl(additions(count)),
  });
}

async function summaryOf(folder: TemporaryFolder, config: string): Promise<ConfigSummary> {
  const { stdout } = await runThrice(['summarize', '--latest', '--json'], { cwd: folder.path });
  const summary = JSON.parse(stdout) as Summary;
  const found = summary.configs.find((candidate) => candidate.config === config);
  if (found === undefined) throw new Error(`no config "${config}" in ${stdout}`);
  return found;
}

async function outcomesOf(folder: TemporaryFolder, ran: Pick<Outcome, 'stdout'>, config: string) {
  return countOutcomes(await readCellRows(folder.resolve('.thrice'), groupOf(ran), config));
}

describe('a lane that fails', () => {
  const count = 120;
  const laneSlots = 4;
  const configs = [
    { name: 'steady', model: 'sound/m' },
    { name: 'stranded', model: 'broken/m' },
  ];

  it.each([
    {
      failure: 'exhausted permanently after 30 answers',
      fault: { kind: 'quota', requests: [31] } satisfies Fault,
      answeredCount: 30,
      reason: 'You exceeded your current quota',
    },
    {
      failure: 'refusing its key',
      fault: { kind: 'unauthorized' } satisfies Fault,
      answeredCount: 0,
      reason: 'Incorrect API key provided',
    },
  ])('pauses alone when it is $failure', async ({ fault, answeredCount, reason }) => {
    await using sound = await startServer({ count });
    await using broken = await startServer({ count, faults: [fault] });
    await using folder = await benchmarkFolder({
      count,
      lanes: {
        sound: { base_url: sound.url },
        broken: { base_url: broken.url, max_concurrency: laneSlots },
      },
      configs,
    });

    const ran = await runThrice(['run', 'sums.json'], { cwd: folder.path });

    expect(ran.exitCode).toBe(2);
    expect(ran.stderr).toContain(`paused: lane broken is blocked: [`);
    expect(ran.stderr).toContain(reason);
    expect(ran.stderr).toContain(`next: thrice resume ${groupOf(ran)}\n`);
    expect(broken.stats().faultCounts[fault.kind]).toBeGreaterThanOrEqual(1);
    expect(broken.stats().faultCounts[fault.kind]).toBeLessThanOrEqual(laneSlots);
    expect(broken.stats().okCount).toBe(answeredCount);
    expect(await outcomesOf(folder, ran, 'steady')).toEqual({ scored: count });
    expect(await outcomesOf(folder, ran, 'stranded')).toEqual({
      ...(answeredCount > 0 ? { scored: answeredCount } : {}),
      'not-attempted': count - answeredCount,
    });
    const { replicates, mean } = await summaryOf(folder, 'stranded');
    const correct = replicates[0]?.correct ?? Number.NaN;
    expect(replicates).toMatchObject([
      { scored: answeredCount, failed: 0, notAttempted: count - answeredCount, headline: null },
    ]);
    expect(mean).toMatchObject({
      coverage: answeredCount / count,
      score: answeredCount === 0 ? null : correct / answeredCount,
      scoreLower: correct / count,
      scoreUpper: (correct + count - answeredCount) / count,
    });
  });

  it('is only called for the remaining cells once it is repaired', async () => {
    await using sound = await startServer({ count });
    await using broken = await startServer({
      count,
      faults: [{ kind: 'quota', requests: [31] }],
    });
    await using folder = await benchmarkFolder({
      count,
      lanes: { sound: { base_url: sound.url }, broken: { base_url: broken.url } },
      configs,
    });

    const paused = await runThrice(['run', 'sums.json'], { cwd: folder.path });
    const rejected = broken.stats().faultCounts.quota ?? 0;
    await using repaired = await repair(broken, count);
    const resumed = await runThrice(['resume', groupOf(paused)], { cwd: folder.path });

    expect([paused.exitCode, resumed.exitCode]).toEqual([2, 0]);
    expect(await outcomesOf(folder, paused, 'stranded')).toEqual({ scored: count });
    expect(sound.stats().requestCount).toBe(count);
    expect(broken.stats().requestCount).toBe(30 + rejected);
    expect(repaired.stats().requestCount).toBe(count - 30);
    expect(repaired.stats().okCount).toBe(count - 30);
    expect(openBreakerKeys(folder.resolve('.thrice'))).toEqual([]);
  });
});

describe('a model that is missing', () => {
  it('pauses alone, whether unknown or served by another, while its lane continues', async () => {
    const count = 80;
    const behaviour = { accuracy: 1, latencyMs: { fixed: 10 } };
    await using lab = await startServer({
      count,
      models: { good: behaviour, impostor: behaviour },
      faults: [{ kind: 'wrong-model', model: 'impostor', servedModel: 'cheaper-1' }],
    });
    await using folder = await benchmarkFolder({
      count,
      lanes: { lab: { base_url: lab.url } },
      configs: ['good', 'impostor', 'gone'].map((name) => ({ name, model: `lab/${name}` })),
    });

    const paused = await runThrice(['run', 'sums.json'], { cwd: folder.path });
    const [impostorCount, goneCount] = ['impostor', 'gone'].map((name) => {
      return [...requestsOf(lab, name).values()].reduce((sum, requests) => sum + requests, 0);
    });
    await using repaired = await repair(lab, count);
    const resumed = await runThrice(['resume', groupOf(paused)], { cwd: folder.path });

    expect(paused.exitCode).toBe(2);
    expect(paused.stderr).toContain(
      'paused: model lab/impostor is blocked: [wrong-served-model] expected an answer of "impostor", received one of "cheaper-1"; if that is the same model, set served_model = "warn" or "allow" in [lanes.lab] or the config, and take that in with "thrice resume GROUP --spec SPEC": the answers so far are kept\n',
    );
    expect(paused.stderr).toContain(
      'paused: model lab/gone is blocked: [unknown-model] 404 The model `gone` does not exist',
    );
    expect(impostorCount).toBeGreaterThanOrEqual(1);
    expect(impostorCount).toBeLessThanOrEqual(8);
    expect(goneCount).toBeGreaterThanOrEqual(1);
    expect(goneCount).toBeLessThanOrEqual(8);
    expect([...requestsOf(lab, 'good').values()]).toEqual(Array.from({ length: count }, () => 1));
    expect(resumed.exitCode).toBe(0);
    expect(repaired.stats().requestCount).toBe(2 * count);
    expect(requestsOf(repaired, 'good').size).toBe(0);
  });

  it('ends the run at once, however many cells remain', async () => {
    const many = 5_000;
    await using server = await startServer({ count: many, models: { other: { accuracy: 1 } } });
    await using folder = await benchmarkFolder({
      count: many,
      lanes: { lab: { base_url: server.url } },
      configs: [{ name: 'a', model: 'lab/missing' }],
      top: { parallel: 4 },
    });

    const ran = await runThrice(['run', 'sums.json'], { cwd: folder.path });

    expect(ran.exitCode).toBe(2);
    expect(server.stats().requestCount).toBeLessThanOrEqual(4);
  });
});

describe('--wait-for-quota', () => {
  const count = 120;
  const parallel = 8;
  // Even a busy machine uses a window up before it ends.
  const windowFault: Fault = { kind: 'quota', window: { requests: 50, seconds: 4 } };
  const argv = ['run', 'sums.json', '--wait-for-quota'];

  async function quotaFolder(url: string): Promise<TemporaryFolder> {
    const configs = [{ name: 'a', model: 'lab/m' }];
    return await benchmarkFolder({ count, lanes: { lab: { base_url: url } }, configs });
  }

  it('completes unattended across several windows whose reset a header announces', async () => {
    await using lab = await startServer({ count, faults: [windowFault] });
    await using folder = await quotaFolder(lab.url);

    const ran = await runThrice(argv, { cwd: folder.path });

    const { okCount, requestCount, faultCounts } = lab.stats();
    const openingCount = new Set(ran.stderr.match(/^blocked: lane lab: .*$/gm)).size;
    expect(ran.exitCode).toBe(0);
    expect(ran.stderr).toMatch(/^waiting for lane lab until \d{4}-/m);
    expect(await outcomesOf(folder, ran, 'a')).toEqual({ scored: count });
    expect(okCount).toBe(count);
    expect(requestCount).toBe(count + (faultCounts.quota ?? 0));
    expect(faultCounts.quota).toBeGreaterThanOrEqual(2);
    expect(openingCount).toBeGreaterThanOrEqual(2);
    // Two windows are used up; the third is large enough for the rest.
    expect(faultCounts.quota).toBeLessThanOrEqual(2 * (parallel + 1));
  });

  it('keeps waiting after a kill in the middle of a wait', async () => {
    const answeredCount = 100;
    await using lab = await startServer({
      count,
      faults: [{ kind: 'quota', requests: [answeredCount + 1], resetSeconds: 3_600 }],
    });
    await using folder = await quotaFolder(lab.url);
    const store = folder.resolve('.thrice');

    await using run = startThrice(argv, { cwd: folder.path });
    await waitWhileRunning('it waits with every answer committed', [run], () => {
      const isWaiting = /^waiting for lane lab until/m.test(run.stderr);
      return isWaiting && committedKeys(store).size === answeredCount;
    });
    run.child.kill('SIGKILL');
    await endOf(run);
    const atKill = lab.stats();
    await using resuming = startThrice(['resume', groupOf(run)], { cwd: folder.path });
    await waitWhileRunning('it waits again', [resuming], () => {
      return /^waiting for lane lab until/m.test(resuming.stderr);
    });
    const whileWaiting = lab.stats();
    await using repaired = await repair(lab, count);
    await endWaits(store);
    const resumed = await endOf(resuming);

    expect(whileWaiting.requestCount).toBe(atKill.requestCount);
    expect(resumed.exitCode).toBe(0);
    expect(atKill.okCount).toBe(answeredCount);
    expect(repaired.stats().requestCount).toBe(count - answeredCount);
    expect(await outcomesOf(folder, run, 'a')).toEqual({ scored: count });
  });
});

describe('a question that always fails', () => {
  it('fails after its attempts and is completed by rerun without asking the others again', async () => {
    const count = 40;
    await using broken = await startServer({
      count,
      faults: [{ kind: 'server-error', model: 'fragile' }],
    });
    await using folder = await benchmarkFolder({
      count,
      top: { max_attempts: 2 },
      lanes: { lab: { base_url: broken.url } },
      configs: [
        { name: 'solid', model: 'lab/solid' },
        { name: 'fragile', model: 'lab/fragile', select: { start: 17, limit: 1 } },
      ],
    });

    const ran = await runThrice(['run', 'sums.json'], { cwd: folder.path });
    const runFolder = folder.resolve('.thrice/runs', groupOf(ran), `${groupOf(ran)}-r1`);
    const failures: unknown = JSON.parse(
      await readFile(`${runFolder}/failures_fragile.json`, 'utf8'),
    );
    await using repaired = await repair(broken, count);
    const rerun = await runThrice(['rerun', groupOf(ran), '--failed'], { cwd: folder.path });

    expect(ran.exitCode).toBe(1);
    expect(ran.stderr).toContain(' x model-unavailable: 500 The server had an error');
    expect(ran.stderr).toContain(`${groupOf(ran)}-r1/failures_fragile.json\n`);
    expect(ran.stderr).toContain(`thrice rerun ${groupOf(ran)} --failed\n`);
    expect(failures).toEqual([
      {
        id: 'q0017',
        run_id: `${groupOf(ran)}-r1`,
        status: 'failed',
        error: '500 The server had an error while processing your request. Sorry about that!',
        class: 'transient',
        attempts: 2,
      },
    ]);
    expect(requestsOf(broken, 'fragile')).toEqual(new Map([['q0017', 2]]));
    expect(rerun.exitCode).toBe(0);
    expect(repaired.stats().requestCount).toBe(1);
    expect(await outcomesOf(folder, ran, 'fragile')).toEqual({ scored: 1 });
    expect(await readFile(`${runFolder}/failures_fragile.json`, 'utf8')).toBe('[]\n');
  });
});

describe('a run that the user stops', () => {
  const count = 60;
  const parallel = 8;
  const configs = [{ name: 'a', model: 'lab/m' }];

  it('finishes the calls in flight, and no others, after one Ctrl-C', async () => {
    const models = { m: { accuracy: 1, latencyMs: { fixed: 700 } } };
    await using slow = await startServer({ count, models });
    await using folder = await benchmarkFolder({
      count,
      lanes: { lab: { base_url: slow.url } },
      configs,
    });

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await waitWhileRunning('all slots are in use', [run], () => {
      return slow.stats().requestCount === parallel;
    });
    run.child.kill('SIGINT');
    const interrupted = await endOf(run);
    const { requestCount, okCount } = slow.stats();
    const committedCount = committedKeys(folder.resolve('.thrice')).size;
    await using quick = await repair(slow, count);
    const resumed = await runThrice(['resume', groupOf(run)], { cwd: folder.path });

    expect(interrupted.exitCode).toBe(130);
    expect(interrupted.stderr).toContain('finishing the calls in flight');
    expect(interrupted.stderr).toContain(
      `[interrupted] work was stopped; nothing paid is lost\nnext: thrice resume ${groupOf(run)}\n`,
    );
    expect([requestCount, okCount, committedCount]).toEqual([parallel, parallel, parallel]);
    expect(resumed.exitCode).toBe(0);
    expect(quick.stats().requestCount).toBe(count - parallel);
  });

  it.each<{ readonly fault: Fault; readonly recordedCount: number }>([
    { fault: { kind: 'hang', requests: [21] }, recordedCount: 0 },
    { fault: { kind: 'drip', requests: [21], seconds: 3_600 }, recordedCount: parallel },
  ])(
    'aborts the calls in flight after a second Ctrl-C and says so: $fault.kind',
    async ({ fault, recordedCount }) => {
      await using stuck = await startServer({ count, faults: [fault] });
      await using folder = await benchmarkFolder({
        count,
        lanes: { lab: { base_url: stuck.url } },
        configs,
      });

      await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
      await waitWhileRunning('all slots hang', [run], () => {
        return stuck.stats().faultCounts[fault.kind] === parallel;
      });
      run.child.kill('SIGINT');
      await run.prints(/press Ctrl-C again/);
      run.child.kill('SIGINT');
      const stopped = await endOf(run);
      const { requestCount } = stuck.stats();
      const discarded = discardReasons(folder.resolve('.thrice'));
      await using quick = await repair(stuck, count);
      const resumed = await runThrice(['resume', groupOf(run)], { cwd: folder.path });

      expect(stopped.exitCode).toBe(130);
      expect(stopped.stderr).toContain(
        `stopped; ${parallel} calls in flight were stopped, which the vendor may bill\nnext: thrice resume ${groupOf(run)}\n`,
      );
      expect(discarded).toEqual(Array.from({ length: recordedCount }, () => 'interrupted'));
      expect(requestCount).toBe(20 + parallel);
      expect(resumed.exitCode).toBe(0);
      expect(quick.stats().requestCount).toBe(count - 20);
    },
  );

  it('stops when another process cancels it, and continues with resume', async () => {
    const models = { m: { accuracy: 1, latencyMs: { fixed: 300 } } };
    await using lab = await startServer({ count: 2 * count, models });
    await using folder = await benchmarkFolder({
      count: 2 * count,
      lanes: { lab: { base_url: lab.url } },
      configs,
    });

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await run.prints(printedGroup);
    const cancel = await runThrice(['cancel', groupOf(run)], { cwd: folder.path });
    const cancelled = await endOf(run);
    const atCancel = lab.stats();
    const committedCount = committedKeys(folder.resolve('.thrice')).size;
    const resumed = await runThrice(['resume', groupOf(run)], { cwd: folder.path });

    expect(cancel.exitCode).toBe(0);
    expect(cancelled.exitCode).toBe(130);
    expect(cancelled.stderr).toContain(
      `cancelled: ${groupOf(run)}\nnext: thrice resume ${groupOf(run)}\n`,
    );
    expect(atCancel.okCount).toBe(atCancel.requestCount);
    expect(committedCount).toBe(atCancel.requestCount);
    expect(committedCount).toBeLessThan(2 * count);
    expect(resumed.exitCode).toBe(0);
    expect(lab.stats().requestCount).toBe(2 * count);
  });
});

describe('a rerun of one config', () => {
  it('does not call the lane of a config that was left out', async () => {
    const count = 20;
    await using sound = await startServer({ count });
    await using broken = await startServer({ count, faults: [{ kind: 'quota' }] });
    await using folder = await benchmarkFolder({
      count,
      lanes: { sound: { base_url: sound.url }, broken: { base_url: broken.url } },
      configs: [
        { name: 'steady', model: 'sound/m' },
        { name: 'stranded', model: 'broken/m' },
      ],
    });
    const group = groupOf(await runThrice(['run', 'sums.json'], { cwd: folder.path }));
    await using repaired = await repair(broken, count);

    await runThrice(['rerun', group, '--failed', '--configs', 'steady'], { cwd: folder.path });

    expect(sound.stats().requestCount).toBe(count);
    expect(repaired.stats().requestCount).toBe(0);
  });
});

describe('a model that is served under another name', () => {
  it('is told at once, and its answers are kept by the resume that accepts them', async () => {
    const lines = additions(40);
    await using server = await startHttpServer((response) => {
      const usage = { prompt_tokens: 10, completion_tokens: 5 };
      sendJson(response, aCompletion({ content: '7' }, { model: 'alias-of-m', usage }));
    });
    const spec = (servedModel: string) =>
      JSON.stringify({
        questions: 'questions.jsonl',
        parallel: 16,
        lanes: { lab: { base_url: server.url, served_model: servedModel } },
        prices: { 'lab/m': { input: 1, output: 1 } },
        configs: [{ name: 'a', model: 'lab/m' }],
      });
    await using folder = await temporaryFolder({
      'sums.json': spec('pin'),
      'questions.jsonl': toJsonl(lines),
    });

    const paused = await runThrice(['run', 'sums.json'], { cwd: folder.path });
    const discardedCount = server.requests.length;
    await writeFile(folder.resolve('sums.json'), spec('warn'));
    const group = groupOf(paused);
    const resume = ['resume', group, '--spec', 'sums.json'];
    const resumed = await runThrice(resume, { cwd: folder.path });

    expect(paused.exitCode).toBe(2);
    expect(paused.stderr).toContain('set served_model = "warn" or "allow" in [lanes.lab]');
    expect(paused.stderr).toContain('thrice resume GROUP --spec SPEC');
    expect(discardedCount).toBeGreaterThan(0);
    expect(discardedCount).toBeLessThanOrEqual(16);
    expect(resumed.exitCode).toBe(0);
    expect(server.requests).toHaveLength(lines.length);
    const { replicates } = await summaryOf(folder, 'a');
    expect(replicates[0]).toMatchObject({ scored: lines.length, wasteUsd: 0 });
    expect(replicates[0]?.costUsd).toBeCloseTo(lines.length * 15e-6, 12);
    const verified = await runThrice(['verify', group], { cwd: folder.path });
    expect(verified).toMatchObject({ exitCode: 0 });
  });
});
