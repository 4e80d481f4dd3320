import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Comparison } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { KillTracker, seededDraw } from '../support/kill-tracker.ts';
import {
  kill,
  PARALLEL,
  rowsWithoutTimes,
  startModels,
  sumsFolder,
  surviveKills,
} from '../support/killed-runs.ts';
import { callThrice, groupOf, printedGroup, startThrice } from '../support/run-thrice.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const QUESTION_COUNT = 400;
const cellCount = 2 * QUESTION_COUNT;
/** Of two processes: slow enough for the second to join the first, however busy the machine is. */
const MEDIAN_MS = 150;

describe('a run that is killed', () => {
  it('ends with the records of an undisturbed run after ten kills, without asking for a committed answer again', async () => {
    await surviveKills({ questionCount: 600, killCount: 7 });
  });

  it('can be resumed when it is killed right after it has printed its group', async () => {
    await using models = await startModels(QUESTION_COUNT, 25);
    await using folder = await sumsFolder(models, QUESTION_COUNT);

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await run.prints(printedGroup);
    await kill(run);
    expect(existsSync(folder.resolve('.thrice/runs', groupOf(run), 'group.json'))).toBe(true);
    const tracker = new KillTracker(folder.resolve('.thrice'), groupOf(run), models);
    const inFlightCount = await tracker.recordKill();
    const resumed = await callThrice(['resume', groupOf(run)], { cwd: folder.path });

    expect(run.stdout).toMatch(/^sums-\d{8}T\d{6}Z-[\da-f]{4}\n$/);
    expect(resumed.exitCode).toBe(0);
    expect(inFlightCount).toBeLessThanOrEqual(PARALLEL);
    expect(await tracker.unexplainedRequests()).toEqual([]);
    expect(models.stats().okCount).toBeGreaterThanOrEqual(cellCount);
    expect(models.stats().requestsByQuestion.size).toBe(cellCount);
  });
});

describe('a run that is killed somewhere', () => {
  it.each([0.2, 0.5, 0.8])(
    'has configs of one lane that share the questions they have answered, at %d of the cells',
    async (ratio) => {
      await using models = await startModels(QUESTION_COUNT, 25);
      await using folder = await sumsFolder(models, QUESTION_COUNT);

      await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
      await run.prints(printedGroup);
      await waitWhileRunning('some cells are answered', [run], () => {
        return models.stats().okCount > ratio * cellCount;
      });
      await kill(run);
      const compared = await callThrice(['compare', groupOf(run), '--json'], { cwd: folder.path });

      const { n, questions, coverageA, coverageB } =
        (JSON.parse(compared.stdout) as Comparison).pairs[0]?.all ?? {};
      const answered = Math.max(coverageA ?? 0, coverageB ?? 0) * (questions ?? 0);
      expect(answered).toBeGreaterThan(0.1 * QUESTION_COUNT);
      // What was in flight, or waited for its pattern to be matched, may be of one config alone: it is 5 % of more questions.
      expect(n).toBeGreaterThanOrEqual(answered - Math.max(2 * PARALLEL, 0.05 * answered));
    },
  );
});

describe('two processes on one group', () => {
  it.each([
    { victim: 'the planning process', victimIndex: 0, seed: 1 },
    { victim: 'the joining process', victimIndex: 1, seed: 2 },
  ])('finish it without waiting for leases when $victim is killed', async (kind) => {
    const { victimIndex, seed } = kind;
    const killedAt = Math.floor((0.15 + seededDraw(seed)() * 0.45) * cellCount);
    await using models = await startModels(QUESTION_COUNT, MEDIAN_MS);
    await using folder = await sumsFolder(models, QUESTION_COUNT);

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
    await using calm = await sumsFolder(models, QUESTION_COUNT);
    const undisturbed = await callThrice(['run', 'sums.json'], { cwd: calm.path });
    expect(await rowsWithoutTimes(folder.resolve('.thrice'), group)).toEqual(
      await rowsWithoutTimes(calm.resolve('.thrice'), groupOf(undisturbed)),
    );
  });

  it('share the work of an undisturbed group without asking a question twice', async () => {
    await using models = await startModels(QUESTION_COUNT, MEDIAN_MS);
    await using folder = await sumsFolder(models, QUESTION_COUNT);

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
