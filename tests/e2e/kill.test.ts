import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { additions, patchyKnowledge, toJsonl } from '../support/additions.ts';
import { readCellRows, timeless } from '../support/cell-rows.ts';
import { KillTracker, seededDraw } from '../support/kill-tracker.ts';
import { arePlanned, taskCount } from '../support/ledger-view.ts';
import {
  groupOf,
  printedGroup,
  type RunningThrice,
  runThrice,
  startThrice,
} from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitUntil, waitWhileRunning } from '../support/wait-until.ts';

const PARALLEL = 16;

const questions = additions(1000);
const cellCount = 2 * questions.length;

/** Starts two models that always answer a question the same way, so that runs can be compared. */
async function startModels(medianMs = 25): Promise<Simulator> {
  const latencyMs = { median: medianMs, p99: 2 * medianMs };
  return await startSimulator({
    behaviour: {
      seed: 7,
      models: {
        curt: { accuracy: 1, latencyMs },
        wordy: { accuracy: 1, latencyMs, style: 'sentence', outputTokens: { fixed: 40 } },
      },
    },
    questions: patchyKnowledge(questions),
  });
}

function benchmarkFolder({ url }: Simulator): Promise<TemporaryFolder> {
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
    'questions.jsonl': toJsonl(questions),
  });
}

/** Kills a command and waits for its end; returns whether it was still alive. */
async function kill(thrice: RunningThrice): Promise<boolean> {
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

async function rowsWithoutTimes(folder: string, group: string): Promise<readonly object[]> {
  const rows = await Promise.all(
    ['curt', 'wordy'].map((config) => readCellRows(folder, group, config)),
  );
  return rows.flat().map(timeless);
}

/** Starts a run and kills it while it sends its tasks; returns the group it has printed by then. */
async function killWhilePlanning(folder: TemporaryFolder): Promise<string> {
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

describe('a run that is killed', () => {
  it('ends with the records of an undisturbed run after 23 kills, without asking for a committed answer again', async () => {
    await using models = await startModels();
    await using calm = await benchmarkFolder(models);
    const undisturbed = await runThrice(['run', 'sums.json'], { cwd: calm.path });
    const calmCount = models.stats().requestCount;
    await using stormy = await benchmarkFolder(models);
    const ledger = stormy.resolve('.thrice');
    const draw = seededDraw(20261120);
    const inFlightCounts: number[] = [];

    const group = await killWhilePlanning(stormy);
    // Cancelled in between: the rest of its plan must still be sent.
    await runThrice(['cancel', group], { cwd: stormy.path });
    const tracker = new KillTracker(ledger, group, models);
    // At most 1,800 requests in total: the last of these kills still finds work to do.
    for (let killCount = 0; killCount < 20; killCount += 1) {
      const target = models.stats().requestCount + 1 + Math.floor(draw() * 90);
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
    for (let killCount = 0; killCount < 2; killCount += 1) {
      await untilInTime(async () => {
        const isInTime = await killWhileFinalizing(group, stormy);
        // Results are also written while calls are in flight, so that any of these kills may cost some.
        inFlightCounts.push(await tracker.recordKill());
        return isInTime;
      });
    }
    const resumed = await runThrice(['resume', group], { cwd: stormy.path });
    const verified = await runThrice(['verify', group], { cwd: stormy.path });

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
  });

  it('can be resumed when it is killed right after it has printed its group', async () => {
    await using models = await startModels();
    await using folder = await benchmarkFolder(models);

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await run.prints(printedGroup);
    await kill(run);
    expect(existsSync(folder.resolve('.thrice/runs', groupOf(run), 'group.json'))).toBe(true);
    const tracker = new KillTracker(folder.resolve('.thrice'), groupOf(run), models);
    const inFlightCount = await tracker.recordKill();
    const resumed = await runThrice(['resume', groupOf(run)], { cwd: folder.path });

    expect(run.stdout).toMatch(/^sums-\d{8}T\d{6}Z-[\da-f]{4}\n$/);
    expect(resumed.exitCode).toBe(0);
    expect(inFlightCount).toBeLessThanOrEqual(PARALLEL);
    expect(await tracker.unexplainedRequests()).toEqual([]);
    expect(models.stats().okCount).toBeGreaterThanOrEqual(cellCount);
    expect(models.stats().requestsByQuestion.size).toBe(cellCount);
  });
});

describe('two processes on one group', () => {
  // Slow enough for the second process to join the first, however busy the machine is.
  const medianMs = 60;

  it.each([
    { victim: 'the planning process', victimIndex: 0, seed: 1 },
    { victim: 'the joining process', victimIndex: 1, seed: 2 },
    { victim: 'the joining process, at another moment,', victimIndex: 1, seed: 3 },
  ])('finish it without waiting for leases when $victim is killed', async (kind) => {
    const { victimIndex, seed } = kind;
    const killedAt = 300 + Math.floor(seededDraw(seed)() * 900);
    await using models = await startModels(medianMs);
    await using folder = await benchmarkFolder(models);

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await run.prints(printedGroup);
    const group = groupOf(run);
    const tracker = new KillTracker(folder.resolve('.thrice'), group, models);
    await using helper = startThrice(['resume', group], { cwd: folder.path });
    await waitWhileRunning('both are at work', [run, helper], () => {
      const { requestCount, maxOpenCount } = models.stats();
      return maxOpenCount > PARALLEL && requestCount > killedAt;
    });
    const [victim, survivor] = victimIndex === 0 ? [run, helper] : [helper, run];
    await kill(victim);
    await tracker.recordKill();
    const outcome = await endOf(survivor);

    expect(outcome.exitCode).toBe(0);
    expect(outcome.stderr).toMatch(/took over \d+ cells? from a process that died/);
    const list = await readFile(folder.resolve('.thrice/runs', group, 'paid-twice.jsonl'), 'utf8');
    const listedCount = list.trimEnd().split('\n').length;
    expect(outcome.stderr).toContain(`; ${listedCount} calls were in flight and may be paid twice`);
    expect(await tracker.repeatedCells()).toEqual([]);
    const { requestCount, requestsByQuestion } = models.stats();
    expect(requestsByQuestion.size).toBe(cellCount);
    expect(requestCount - cellCount).toBeLessThanOrEqual(Math.min(PARALLEL, listedCount));
    await using calm = await benchmarkFolder(models);
    const undisturbed = await runThrice(['run', 'sums.json'], { cwd: calm.path });
    expect(await rowsWithoutTimes(folder.resolve('.thrice'), group)).toEqual(
      await rowsWithoutTimes(calm.resolve('.thrice'), groupOf(undisturbed)),
    );
  });

  it('share the work of an undisturbed group without asking a question twice', async () => {
    await using models = await startModels(medianMs);
    await using folder = await benchmarkFolder(models);

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await run.prints(printedGroup);
    await using helper = startThrice(['resume', groupOf(run)], { cwd: folder.path });
    const outcomes = [await endOf(run), await endOf(helper)];

    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(models.stats().maxOpenCount).toBeGreaterThan(PARALLEL);
    expect(models.stats().requestCount).toBe(cellCount);
    expect(models.stats().okCount).toBe(cellCount);
  });
});
