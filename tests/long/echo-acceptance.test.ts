import { once } from 'node:events';
import { readFileSync, statSync, watch } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Summary } from '@thrice/core';
import type { Faults, RequestLogEntry, SimulatorStats } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { bbhFolder, bbhToml, readBbhExpectation } from '../support/bbh-benchmark.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { seededDraw } from '../support/kill-tracker.ts';
import { committedKeys } from '../support/ledger-view.ts';
import {
  callThrice,
  printedGroup,
  type RunningThrice,
  startThrice,
} from '../support/run-thrice.ts';
import { hasSharedData } from '../support/shared-data.ts';
import { recordedTokens } from '../support/spend.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning, within } from '../support/wait-until.ts';

const PARALLEL = 32;
const cellCount = 6511 + 3187;

/** Every fault that a provider can cause, limited so that no cell uses up its attempts. */
const mixedFaults: Faults = {
  seed: 20261120,
  faults: [
    { kind: 'usage-limit', requests: [1500, 1502], resetSeconds: 1 },
    { kind: 'usage-limit', requests: [6000, 6002], resetSeconds: 1 },
    { kind: 'rate-limit', rate: 0.02, retryAfterSeconds: 1, maxPerQuestion: 1 },
    { kind: 'overloaded', rate: 0.02, maxPerQuestion: 1 },
    { kind: 'hang', rate: 0.001, maxPerQuestion: 1 },
    { kind: 'reset', rate: 0.02, afterBytes: 40, maxPerQuestion: 1 },
  ],
};

function groupOf({ stdout }: { readonly stdout: string }): string {
  return stdout.split('\n')[0] ?? '';
}

function readLog(file: string): readonly RequestLogEntry[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as RequestLogEntry);
}

/** Counts the complete answers of each cell, by cell key header. */
function countAnswers(log: readonly RequestLogEntry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { cell, ok } of log) {
    if (ok && cell !== null) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }
  return counts;
}

/** Tracks answers that a kill kept from being committed: sent since the last kill, in no journal. */
class LostAnswers {
  readonly #ledger: string;
  readonly #log: string;
  readonly #lost = new Map<string, number>();
  #answersBefore: ReadonlyMap<string, number> = new Map();

  constructor(ledger: string, log: string) {
    this.#ledger = ledger;
    this.#log = log;
  }

  /** Records a kill after the process has ended; returns how many answers were lost. */
  recordKill(): number {
    const committed = committedKeys(this.#ledger);
    const answers = countAnswers(readLog(this.#log));
    const lost = [...answers].filter(
      ([cell, count]) => !committed.has(cell) && count > (this.#answersBefore.get(cell) ?? 0),
    );
    for (const [cell] of lost) this.#lost.set(cell, (this.#lost.get(cell) ?? 0) + 1);
    this.#answersBefore = answers;
    return lost.length;
  }

  /** Lists cells whose answers are not exactly one, plus one for each lost answer. */
  unexplainedAnswers(): readonly string[] {
    return [...countAnswers(readLog(this.#log))].flatMap(([cell, count]) =>
      count === 1 + (this.#lost.get(cell) ?? 0) ? [] : [`${cell}: ${count} answers`],
    );
  }
}

/** Starts `thrice simulate` and waits for its URL. */
async function startReplay(cwd: string, ...options: string[]): Promise<RunningThrice> {
  const replay = startThrice(['simulate', '--replay', bbhFolder, ...options], { cwd });
  await replay.prints(/\/v1\n/);
  return replay;
}

function urlOf({ stdout }: RunningThrice): string {
  return stdout.trim();
}

async function kill(thrice: RunningThrice, replay: RunningThrice): Promise<void> {
  thrice.child.kill('SIGKILL');
  await endOf(thrice);
  expect(thrice.child.signalCode).toBe('SIGKILL');
  // After one more exchange, the log holds everything that was sent to the dead client.
  await readStats(replay);
}

async function readStats(replay: RunningThrice): Promise<Pick<SimulatorStats, 'billed'>> {
  const response = await fetch(urlOf(replay).replace(/v1$/, 'thrice/stats'));
  return (await response.json()) as SimulatorStats;
}

/** Resolves in the middle of a process's writes to a file. */
async function nextWrite(file: string): Promise<void> {
  const watcher = watch(file);
  try {
    await within(600, `a write to ${file}`, once(watcher, 'change'));
  } finally {
    watcher.close();
  }
}

describe.runIf(hasSharedData)('acceptance of the sweeps over BIG-Bench Hard', () => {
  it('completes despite every fault and seven kills, asking for each answer once, with the published figures', async () => {
    const expected = await readBbhExpectation();
    await using folder = await temporaryFolder({ 'mixed.json': JSON.stringify(mixedFaults) });
    const ledger = folder.resolve('.thrice');
    const log = folder.resolve('calls.jsonl');
    await using replay = await startReplay(
      folder.path,
      '--faults',
      'mixed.json',
      '--log',
      'calls.jsonl',
    );
    const settings = `parallel = ${PARALLEL}\nmax_attempts = 8\ntimeout_s = 3`;
    const spec = bbhToml(urlOf(replay), expected.recorded.cot, settings);
    await writeFile(folder.resolve('bbh.toml'), spec);
    const lost = new LostAnswers(ledger, log);
    const draw = seededDraw(9698);
    const lostCounts: number[] = [];

    await using run = startThrice(['run', 'bbh.toml', '--wait-for-quota'], { cwd: folder.path });
    await run.prints(printedGroup);
    const group = groupOf(run);
    let working: RunningThrice = run;
    await using resources = new AsyncDisposableStack();
    for (let killCount = 0; killCount < 7; killCount += 1) {
      // A line of the log is about 220 bytes: at most six thousand calls until the last kill.
      const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
      const target = size + Math.floor(draw() * 180_000);
      await waitWhileRunning(`${target} bytes of log`, [working], () => {
        return (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > target;
      });
      if (killCount === 3) await nextWrite(join(ledger, 'thrice.db-wal'));
      await kill(working, replay);
      lostCounts.push(lost.recordKill());
      working = resources.use(startThrice(['resume', group], { cwd: folder.path }));
    }
    const finished = await endOf(working);
    const callCount = readLog(log).length;
    const billedCount = (await readStats(replay)).billed.calls;
    const again = await callThrice(['resume', group], { cwd: folder.path });
    const summarized = await callThrice(['summarize', group, '--json'], { cwd: folder.path });
    const verified = await callThrice(['verify', group], { cwd: folder.path });

    expect(finished.exitCode).toBe(0);
    expect(lostCounts.filter((count) => count > PARALLEL)).toEqual([]);
    expect(countAnswers(readLog(log)).size).toBe(cellCount);
    expect(lost.unexplainedAnswers()).toEqual([]);
    expect(new Set(readLog(log).map(({ fault }) => fault))).toEqual(
      new Set([null, ...mixedFaults.faults.map(({ kind }) => kind)]),
    );
    expect(again.exitCode).toBe(0);
    expect(readLog(log).length).toBe(callCount);

    const rows = [
      ...(await readCellRows(ledger, group, 'direct')),
      ...(await readCellRows(ledger, group, 'cot')),
    ];
    expect(rows).toHaveLength(cellCount);
    // What a kill caught in flight is billed and cannot be recorded; nothing else is missing.
    const missingCount = billedCount - recordedTokens(rows).calls;
    expect(missingCount).toBeGreaterThanOrEqual(0);
    expect(missingCount).toBeLessThanOrEqual(lostCounts.length * PARALLEL);
    expect(new Set(rows.map(({ id, config }) => `${config} ${id}`)).size).toBe(cellCount);
    expect(rows.filter(({ error }) => error !== null)).toEqual([]);
    expect(rows.filter(({ answer }) => answer?.includes('usage limit') === true)).toEqual([]);
    expect(
      Object.keys(countOutcomes(rows)).filter((name) => !/^(scored|unparsed)$/.test(name)),
    ).toEqual([]);

    const { configs } = JSON.parse(summarized.stdout) as Summary;
    expect(configs.map(({ config, replicates }) => [config, ...replicates])).toMatchObject([
      ['direct', { questions: 6511, correct: 3408, coverage: 1 }],
      ['cot', { questions: 3187, correct: 2109, coverage: 1 }],
    ]);
    const scores = configs.flatMap(({ config, byTag }) =>
      Object.entries(byTag['subtask'] ?? {}).map(([subtask, { score }]) => ({
        name: `${config}/${subtask}`,
        percent: (score ?? Number.NaN) * 100,
        published: expected.published_accuracy[config === 'cot' ? 'cot' : 'direct'][subtask],
      })),
    );
    expect(scores).toHaveLength(40);
    expect(
      scores.filter(({ percent, published = Number.NaN }) => {
        return !(Math.abs(percent - published) < 1e-9);
      }),
    ).toEqual([]);
    const averages = configs.map(({ averages: named }) =>
      named.map(
        ({ label, value }) => `${label}: ${value === null ? 'none' : (value * 100).toFixed(4)}`,
      ),
    );
    expect(averages[0]).toContain("paper's 23 tasks (variants averaged): 56.6135");
    expect(averages[1]).toContain("paper's 23 tasks (variants averaged): none");
    expect(averages[1]?.[3]).toMatch(/^mean over 13 of 27 subtasks: /);
    expect(verified.exitCode).toBe(0);
  });

  it('finishes one lane while the other is exhausted, and the other once it is repaired', async () => {
    const count = 250;
    await using folder = await temporaryFolder({
      'exhausted.json': JSON.stringify({ seed: 1, faults: [{ kind: 'quota', requests: [101] }] }),
    });
    await using sound = await startReplay(folder.path);
    await using broken = await startReplay(
      folder.path,
      '--faults',
      'exhausted.json',
      '--log',
      'broken.jsonl',
    );
    const spec = bbhToml(urlOf(sound), ['boolean_expressions'])
      .replace('[[configs]]', `[lanes.other]\nbase_url = "${urlOf(broken)}"\n\n[[configs]]`)
      .replace(/model = "codex(.*"\nprompt = "{{metadata.cot)/, 'model = "other$1');
    await writeFile(folder.resolve('bbh.toml'), spec);
    const argv = ['run', 'bbh.toml', '--limit', String(count)];

    const paused = await callThrice(argv, { cwd: folder.path });
    const pausedCounts = await Promise.all(
      ['direct', 'cot'].map(async (config) =>
        countOutcomes(await readCellRows(folder.resolve('.thrice'), groupOf(paused), config)),
      ),
    );
    broken.child.kill('SIGINT');
    await endOf(broken);
    await using repaired = await startReplay(
      folder.path,
      '--port',
      new URL(urlOf(broken)).port,
      '--log',
      'repaired.jsonl',
    );
    const resumed = await callThrice(['resume', groupOf(paused)], { cwd: folder.path });

    expect(paused.exitCode).toBe(2);
    expect(paused.stderr).toContain(`next: thrice resume ${groupOf(paused)}\n`);
    expect(pausedCounts).toEqual([
      { scored: count },
      { scored: 100, 'not-attempted': count - 100 },
    ]);
    expect(urlOf(repaired)).toBe(urlOf(broken));
    expect(resumed.exitCode).toBe(0);
    const answered = countAnswers(readLog(folder.resolve('broken.jsonl')));
    const completed = countAnswers(readLog(folder.resolve('repaired.jsonl')));
    expect([answered.size, completed.size]).toEqual([100, count - 100]);
    expect([...completed.keys()].filter((cell) => answered.has(cell))).toEqual([]);
  });
});
