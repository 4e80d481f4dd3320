import type { CellRow } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { everythingTwice, tasksLost } from '../support/aws-faults.ts';
import {
  type BillingVendor,
  billedUsd,
  paidTwice,
  startBillingVendor,
  USD_PER_CALL,
} from '../support/billing-vendor.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { type StackChanges, shortLimits } from '../support/cloud.ts';
import { FunctionKiller, type Kill } from '../support/function-killer.ts';
import { aVerdict } from '../support/judged-benchmark.ts';
import { type JudgedLanes, judgedFiles } from '../support/judged-files.ts';
import { kill } from '../support/killed-runs.ts';
import { committedKeys } from '../support/ledger-view.ts';
import { callThrice, groupOf, type Outcome, startThrice } from '../support/run-thrice.ts';
import { shareCloud } from '../support/shared-cloud.ts';
import { pullRows, thriceIn } from '../support/stage.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntilShown, waitWhileRunning } from '../support/wait-until.ts';

const CELLS = 60;

const says42 = () => '42';
/** Every fourth answer is wrong. */
const judges = (call: string) => aVerdict(numberOf(call) % 4 !== 0);
const isOut = () => undefined;
const nonsense = (call: string) => numberOf(call) % 3 === 0;

/** The number of the question that a call is about. */
function numberOf(call: string): number {
  return Number(/\/q(\d+)\//.exec(call)?.[1]);
}

/** Where judged groups run. */
interface Place {
  readonly lanes: JudgedLanes;
  readonly thrice: (folder: TemporaryFolder, ...argv: string[]) => Promise<Outcome>;
  readonly rows: (folder: TemporaryFolder, group: string) => Promise<readonly CellRow[]>;
}

const here: Place = {
  lanes: { model: 'lab', judge: 'court' },
  thrice: (folder, ...argv) => callThrice(argv, { cwd: folder.path }),
  rows: (folder, group) => readCellRows(folder.resolve('.thrice'), group, 'a'),
};

const statusSchema = z.object({
  state: z.string(),
  cells: z.int(),
  done: z.int(),
  configs: z.array(
    z.object({
      scored: z.int(),
      ungraded: z.int(),
      toGrade: z.int(),
      notAttempted: z.int(),
      costUsd: z.number(),
      overheadUsd: z.number(),
    }),
  ),
});

async function statusOf(place: Place, folder: TemporaryFolder, group: string) {
  const { stdout } = await place.thrice(folder, 'status', group, '--json');
  const { configs, ...status } = statusSchema.parse(JSON.parse(stdout));
  return { ...status, ...configs[0] };
}

/** What the calls of rows have cost, by their purpose, USD to the cent. */
function spentOn(rows: readonly CellRow[], purpose: string): number {
  const calls = rows.flatMap((row) => row.calls).filter((call) => call.purpose === purpose);
  return toCents(calls.reduce((sum, { costUsd }) => sum + (costUsd ?? Number.NaN), 0));
}

function toCents(usd: number): number {
  return Math.round(usd / USD_PER_CALL) * USD_PER_CALL;
}

/** Expects every answer and every verdict to have been bought once, and recorded at what was billed. */
function expectBoughtOnce(
  { model, judge }: { readonly model: BillingVendor; readonly judge: BillingVendor },
  rows: readonly CellRow[],
): void {
  expect([paidTwice(model), paidTwice(judge)]).toEqual([[], []]);
  expect([model.billed.size, judge.billed.size]).toEqual([CELLS, CELLS]);
  expect(spentOn(rows, 'answering')).toBe(toCents(billedUsd(model)));
  expect(spentOn(rows, 'grading')).toBe(toCents(billedUsd(judge)));
}

/** What must hold wherever judged cells run. */
function specifyJudging(place: () => Place): void {
  it('buys each answer and each verdict once, at the cost that its vendors bill', async () => {
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(judges);
    const { lanes } = place();
    await using folder = await temporaryFolder(
      judgedFiles({ model, judge }, { count: CELLS, lanes }),
    );

    const ran = await place().thrice(folder, 'run', 'judged.toml');

    const rows = await place().rows(folder, groupOf(ran));
    expect(ran.exitCode).toBe(0);
    expect(countOutcomes(rows)).toEqual({ scored: CELLS });
    expect(rows.filter(({ score }) => score === 1)).toHaveLength((CELLS * 3) / 4);
    expectBoughtOnce({ model, judge }, rows);
    expect(await statusOf(place(), folder, groupOf(ran))).toMatchObject({
      state: 'complete',
      toGrade: 0,
      costUsd: expect.closeTo(1.2, 9) as number,
      overheadUsd: expect.closeTo(0.6, 9) as number,
    });
    const verified = await place().thrice(folder, 'verify', groupOf(ran));
    expect(verified).toMatchObject({ exitCode: 0 });
  });

  it('keeps the answers while the lane of the judge is blocked, and grades them when it answers', async () => {
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(isOut);
    const { lanes } = place();
    await using folder = await temporaryFolder(
      judgedFiles({ model, judge }, { count: CELLS, lanes }),
    );

    const paused = await place().thrice(folder, 'run', 'judged.toml');
    const group = groupOf(paused);
    const waiting = await statusOf(place(), folder, group);
    const ungraded = await place().rows(folder, group);
    const refusedCount = judge.requestCount;
    judge.become(judges);
    const resumed = await place().thrice(folder, 'resume', group);

    expect(paused.exitCode).toBe(2);
    expect(paused.stderr).toContain(`lane ${lanes.judge} is blocked`);
    expect(waiting).toMatchObject({
      cells: CELLS,
      done: CELLS,
      ungraded: CELLS,
      toGrade: CELLS,
      notAttempted: 0,
    });
    expect(ungraded.map(({ output, reason }) => `${output} ${reason}`)).toEqual(
      Array.from({ length: CELLS }, () => '42 awaiting-judge'),
    );
    expect(refusedCount).toBeGreaterThan(0);
    expect(resumed.exitCode).toBe(0);
    const rows = await place().rows(folder, group);
    expect(countOutcomes(rows)).toEqual({ scored: CELLS });
    expectBoughtOnce({ model, judge }, rows);
  });

  it('leaves ungraded what a judge says nonsense of, until a sane one is asked', async () => {
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor((call) =>
      nonsense(call) ? 'I like it.' : judges(call),
    );
    const { lanes } = place();
    const files = judgedFiles({ model, judge }, { count: CELLS, lanes, top: 'max_attempts = 2' });
    await using folder = await temporaryFolder(files);

    const ran = await place().thrice(folder, 'run', 'judged.toml');
    const group = groupOf(ran);
    const rows = await place().rows(folder, group);
    judge.become(judges);
    const rerun = await place().thrice(folder, 'rerun', group, '--failed');

    expect(ran.exitCode).toBe(1);
    expect(ran.stderr).toContain(`${CELLS / 3} x unreadable-verdict`);
    expect(ran.stderr).toContain(`next: thrice rerun ${group} --failed`);
    expect(countOutcomes(rows)).toEqual({ scored: (CELLS * 2) / 3, ungraded: CELLS / 3 });
    expect(rows.filter(({ id }) => nonsense(`/${id}/`)).map(({ score }) => score)).toEqual(
      Array.from({ length: CELLS / 3 }, () => null),
    );
    expect(rerun.exitCode).toBe(0);
    expect(countOutcomes(await place().rows(folder, group))).toEqual({ scored: CELLS });
    expect(paidTwice(model)).toEqual([]);
    // Two replies each that say nothing, and one that does.
    expect(Math.round(billedUsd(judge) / USD_PER_CALL)).toBe(CELLS + (2 * CELLS) / 3);
  });
}

describe('60 judged cells on one machine', () => {
  specifyJudging(() => here);

  it('are graded after two kills while they are judged, without an answer asked again', async () => {
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(judges);
    const files = judgedFiles({ model, judge }, { count: CELLS, top: 'parallel = 4' });
    await using folder = await temporaryFolder(files);
    const inFlight = new Set<string>();

    const begun = startThrice(['run', 'judged.toml'], { cwd: folder.path });
    let running = begun;
    for (const atRequest of [10, 30]) {
      await waitWhileRunning(`request ${atRequest} to the judge`, [running], () => {
        return judge.requestCount >= atRequest;
      });
      await kill(running);
      const committed = committedKeys(folder.resolve('.thrice'));
      const sent = [...model.billed.keys(), ...judge.billed.keys()];
      const lost = sent.filter((call) => !committed.has(encodeParts(call)));
      for (const call of lost) inFlight.add(call);
      running = startThrice(['resume', groupOf(begun)], { cwd: folder.path });
    }
    const resumed = await running.ended;

    const rows = await here.rows(folder, groupOf(begun));
    expect(resumed.exitCode).toBe(0);
    expect(countOutcomes(rows)).toEqual({ scored: CELLS });
    const again = [...paidTwice(model), ...paidTwice(judge)];
    expect(again.filter((call) => !inFlight.has(call))).toEqual([]);
  });
});

/** A call as the header of its request names it. */
function encodeParts(call: string): string {
  return call.split('/').map(encodeURIComponent).join('/');
}

/** Functions that die are noticed within seconds, on the lanes of the model and of its judge. */
const stageChanges: StackChanges = {
  ...shortLimits,
  queues: { ...shortLimits.queues, LaneMistral: shortLimits.queues.LaneSim },
};

/** Right before the grade of an answer is asked for, with a verdict that is paid for, and before it is a grade. */
const killsWhileJudging: readonly Kill[] = [
  { config: 'a', step: 'complete', moment: 'after' },
  { config: 'a@1', step: 'commit', moment: 'after' },
  { config: 'a@1', step: 'complete', moment: 'before' },
];

describe('60 judged cells in a stage', () => {
  const cloud = shareCloud({ changes: stageChanges });
  const stage: Place = {
    lanes: { model: 'sim', judge: 'mistral' },
    thrice: (folder, ...argv) => thriceIn(cloud, folder.path, ...argv),
    rows: (folder, group) => pullRows(cloud, folder.path, group, 'a'),
  };
  specifyJudging(() => stage);

  it('are bought once when every message is delivered twice', async () => {
    cloud.intercept = everythingTwice;
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(judges);
    const { lanes } = stage;
    await using folder = await temporaryFolder(
      judgedFiles({ model, judge }, { count: CELLS, lanes }),
    );

    const ran = await stage.thrice(folder, 'run', 'judged.toml');

    const rows = await stage.rows(folder, groupOf(ran));
    expect(ran.exitCode).toBe(0);
    expect(countOutcomes(rows)).toEqual({ scored: CELLS });
    expectBoughtOnce({ model, judge }, rows);
  });

  it('are bought once although functions die while the answers are judged', async () => {
    const killer = new FunctionKiller('Answer', killsWhileJudging);
    killer.functions = cloud.functions;
    cloud.intercept = killer.intercept;
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(judges);
    const { lanes } = stage;
    const files = judgedFiles({ model, judge }, { count: CELLS, lanes });
    await using folder = await temporaryFolder(files);

    const ran = await stage.thrice(folder, 'run', 'judged.toml');

    const rows = await stage.rows(folder, groupOf(ran));
    expect(killer.remainingKills).toEqual([]);
    expect(ran.exitCode).toBe(0);
    expect(countOutcomes(rows)).toEqual({ scored: CELLS });
    expectBoughtOnce({ model, judge }, rows);
  });

  it('are listed with their config in the DLQ where their judge fails, and graded once they are replayed', async () => {
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(() => 'I like it.');
    const { lanes } = stage;
    const files = judgedFiles({ model, judge }, { count: 2, lanes, top: 'max_attempts = 1' });
    await using folder = await temporaryFolder(files);

    const ran = await stage.thrice(folder, 'run', 'judged.toml');
    const group = groupOf(ran);
    const filter = ['--run', group, '--config', 'a'];
    const listed = await stage.thrice(folder, 'dlq', 'ls', ...filter);
    judge.become(judges);
    const replayed = await stage.thrice(folder, 'dlq', 'replay', ...filter);
    await waitUntilShown('the group is complete', async () => {
      return (await statusOf(stage, folder, group)).state === 'complete';
    });

    expect(ran.exitCode).toBe(1);
    expect(listed.stdout).toMatch(/a@1 +q0 /);
    expect(replayed.exitCode).toBe(0);
    expect(countOutcomes(await stage.rows(folder, group))).toEqual({ scored: 2 });
    expect(paidTwice(model)).toEqual([]);
  });

  it('are found by the reconciler where the tasks of their grades are lost', async () => {
    cloud.intercept = tasksLost;
    await using model = await startBillingVendor(says42);
    await using judge = await startBillingVendor(judges);
    const { lanes } = stage;
    const files = judgedFiles({ model, judge }, { count: 6, lanes });
    await using folder = await temporaryFolder(files);

    const ran = await stage.thrice(folder, 'run', 'judged.toml');

    expect(ran.exitCode).toBe(0);
    expect(countOutcomes(await stage.rows(folder, groupOf(ran)))).toEqual({ scored: 6 });
    expect([...paidTwice(model), ...paidTwice(judge)]).toEqual([]);
  });
});
