import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { expect } from 'vitest';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { additions, patchyKnowledge, toJsonl } from './additions.ts';
import { readCellRows, timeless } from './cell-rows.ts';
import { KillTracker, seededDraw } from './kill-tracker.ts';
import { arePlanned, taskCount } from './ledger-view.ts';
import { callThrice, groupOf, type RunningThrice, startThrice } from './run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';
import { endOf, waitUntil, waitWhileRunning } from './wait-until.ts';

/** Calls of a process at once. */
export const PARALLEL = 16;

/**
 * Starts two models that always answer a question the same way, so that runs can be compared.
 *
 * @param questionCount - Two cells each.
 */
export async function startModels(questionCount: number, medianMs: number): Promise<Simulator> {
  const latencyMs = { median: medianMs, p99: 2 * medianMs };
  return await startSimulator({
    behaviour: {
      seed: 7,
      models: {
        curt: { accuracy: 1, latencyMs },
        wordy: { accuracy: 1, latencyMs, style: 'sentence', outputTokens: { fixed: 40 } },
      },
    },
    questions: patchyKnowledge(additions(questionCount)),
  });
}

/** A folder with the benchmark of both models. */
export function sumsFolder({ url }: Simulator, questionCount: number): Promise<TemporaryFolder> {
  const spec = {
    questions: 'questions.jsonl',
    parallel: PARALLEL,
    lanes: { lab: { base_url: url } },
    scorers: { stated: { kind: 'regex', pattern: 'answer is ([0-9]+)' } },
    configs: [
      { name: 'curt', model: 'lab/curt' },
      { name: 'wordy', model: 'lab/wordy', scorer: 'stated' },
    ],
  };
  return temporaryFolder({
    'sums.json': JSON.stringify(spec),
    'questions.jsonl': toJsonl(additions(questionCount)),
  });
}

/** Kills a command and waits for its end; returns whether it was still alive. */
export async function kill(thrice: RunningThrice): Promise<boolean> {
  thrice.child.kill('SIGKILL');
  await endOf(thrice);
  return thrice.child.signalCode === 'SIGKILL';
}

/** Names of the files in a folder that are being written, other than the progress, which always is. */
function halfWrittenFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.tmp'))
      .map((name) => basename(name))
      .filter((name) => !name.startsWith('progress.json'));
  } catch {
    return [];
  }
}

export async function rowsWithoutTimes(folder: string, group: string): Promise<readonly object[]> {
  const rows = await Promise.all(
    ['curt', 'wordy'].map((config) => readCellRows(folder, group, config)),
  );
  return rows.flat().map(timeless);
}

/** Starts a run and kills it while it sends its tasks; returns the group it has printed by then. */
async function killWhilePlanning(folder: TemporaryFolder, cellCount: number): Promise<string> {
  const ledger = folder.resolve('.thrice');
  {
    using database = openDatabase(join(ledger, 'thrice.db'));
    // Each task costs some work: planning takes seconds, so that the kill cannot miss it.
    database.exec(`CREATE TRIGGER toil AFTER INSERT ON tasks BEGIN
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
      SELECT max(n) FROM numbers; END`);
  }
  await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
  await waitWhileRunning('the first tasks are queued', [run], () => taskCount(ledger) > 0);
  await kill(run);
  expect(arePlanned(ledger)).toEqual([false]);
  expect(taskCount(ledger)).toBeLessThan(cellCount);
  using database = openDatabase(join(ledger, 'thrice.db'));
  database.exec('DROP TRIGGER toil');
  return groupOf(run);
}

/** Resumes a group and kills it while it writes its results; returns whether the kill was in time. */
async function killWhileFinalizing(group: string, folder: TemporaryFolder): Promise<boolean> {
  const results = folder.resolve('.thrice/runs', group);
  const left = halfWrittenFiles(results);
  await using resumed = startThrice(['resume', group], { cwd: folder.path });
  const isWriting = () => halfWrittenFiles(results).length > left.length;
  await waitUntil('a file is being written', () => resumed.child.exitCode !== null || isWriting());
  return (await kill(resumed)) && isWriting();
}

/** Repeats an attempt that may come too late until one is in time. */
async function untilInTime(attempt: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < 20; count += 1) if (await attempt()) return;
  throw new Error('twenty attempts came too late');
}

/**
 * Kills a run while it is planned, so often while it works, and twice while it writes its results; expects the records
 * of an undisturbed run, and that no committed answer is asked for again.
 */
export async function surviveKills({
  questionCount,
  killCount,
}: {
  readonly questionCount: number;
  readonly killCount: number;
}): Promise<void> {
  const cellCount = 2 * questionCount;
  await using models = await startModels(questionCount, 25);
  await using calm = await sumsFolder(models, questionCount);
  const undisturbed = await callThrice(['run', 'sums.json'], { cwd: calm.path });
  const calmCount = models.stats().requestCount;
  await using stormy = await sumsFolder(models, questionCount);
  const ledger = stormy.resolve('.thrice');
  const draw = seededDraw(20261120);
  const inFlightCounts: number[] = [];

  const group = await killWhilePlanning(stormy, cellCount);
  // Cancelled in between: the rest of its plan must still be sent.
  await callThrice(['cancel', group], { cwd: stormy.path });
  const tracker = new KillTracker(ledger, group, models);
  // At most nine tenths of the requests in total: the last of these kills still finds work to do.
  const span = (0.9 * cellCount) / killCount;
  for (let count = 0; count < killCount; count += 1) {
    const target = models.stats().requestCount + 1 + Math.floor(draw() * span);
    await using resumed = startThrice(['resume', group], { cwd: stormy.path });
    await waitWhileRunning(`request ${target}`, [resumed], () => {
      return models.stats().requestCount >= target;
    });
    expect(await kill(resumed)).toBe(true);
    inFlightCounts.push(await tracker.recordKill());
  }
  const progress = readFileSync(join(ledger, 'runs', group, 'progress.json'), 'utf8');
  expect(JSON.parse(progress)).toMatchObject({ group, cells: cellCount });
  // The first of these completes the remaining cells, the second finds a finished group.
  for (let count = 0; count < 2; count += 1) {
    await untilInTime(async () => {
      const isInTime = await killWhileFinalizing(group, stormy);
      // Results are also written while calls are in flight, so that any of these kills may cost some.
      inFlightCounts.push(await tracker.recordKill());
      return isInTime;
    });
  }
  const resumed = await callThrice(['resume', group], { cwd: stormy.path });
  const verified = await callThrice(['verify', group], { cwd: stormy.path });

  expect(undisturbed.exitCode).toBe(0);
  expect(calmCount).toBe(cellCount);
  expect(resumed.exitCode).toBe(0);
  expect(verified.exitCode).toBe(0);
  expect(await rowsWithoutTimes(ledger, group)).toEqual(
    await rowsWithoutTimes(calm.resolve('.thrice'), groupOf(undisturbed)),
  );
  expect(await tracker.repeatedCells()).toEqual([]);
  expect(await tracker.unexplainedRequests()).toEqual([]);
  expect(inFlightCounts.filter((count) => count > PARALLEL)).toEqual([]);
  expect(inFlightCounts.some((count) => count > 0)).toBe(true);
  const extraCount = inFlightCounts.reduce((sum, count) => sum + count, 0);
  expect(models.stats().requestCount).toBe(calmCount + cellCount + extraCount);
}
