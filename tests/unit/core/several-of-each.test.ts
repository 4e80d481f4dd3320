import {
  CallBudget,
  dispatchTasks,
  LaneGovernor,
  LaneHealth,
  loadGroup,
  openBudget,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { emptyAccount } from '../../../packages/core/src/domain/budget.ts';
import type { LaneState, ModelReport } from '../../../packages/core/src/domain/lane-state.ts';
import { LaneLimiter } from '../../../packages/core/src/lanes/lane-limiter.ts';
import {
  afterReport,
  stateAt,
  unknownLane,
  windowMs,
} from '../../../packages/core/src/lanes/lane-policy.ts';
import {
  aBenchmark,
  aCellKey,
  aConfig,
  aLane,
  aModelResponse,
  anError,
  anOpenBreaker,
} from '../../support/builders.ts';
import { FakeBudgets } from '../../support/fake-budgets.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeStage, type StageGroup } from '../../support/fake-stage.ts';
import { MemoryLaneStates } from '../../support/memory-lane-states.ts';
import { aPermitRequest, refused, takePermit } from '../../support/permits.ts';
import { settledBy } from '../../support/settled-by.ts';
import { SimulatedClock } from '../../support/simulated-clock.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

const LONG_MS = 30_000;
const SHORT_MS = 1_000;
const waits = [
  { name: 'longer, then shorter', inOrder: [LONG_MS, SHORT_MS] },
  { name: 'shorter, then longer', inOrder: [SHORT_MS, LONG_MS] },
];

/** The budget of calls of which each lane has one in flight at most, on a clock that stands still. */
function openBudgetOf(lanes: readonly string[], isBackground: boolean) {
  const clock = new FakeClock();
  const benchmark = aBenchmark({
    lanes: new Map(lanes.map((lane) => [lane, aLane({ name: lane, maxConcurrency: 1 })])),
    configs: lanes.map((lane) => aConfig({ name: lane, lane, isBackground })),
  });
  const budgets = new FakeBudgets(new FakeLedger(clock), clock);
  const about = { group: 'demo', owner: 'worker-1', benchmark, budgets, clock };
  const budget = new CallBudget({ ...about, observe: () => undefined });
  const wait = (lane: string, signal = new AbortController().signal) =>
    budget.waitToAskAgain({ lane, waitedMs: 0 }, signal);
  return { budget, wait };
}

function report(retryAfterMs: number): ReadonlyMap<string, ModelReport> {
  const stated = { requestsPerMinute: null, tokensPerMinute: null };
  const counts = { answered: 0, sent: 5, refused: 5, tokens: 0, countedMs: 1_000 };
  return new Map([['m', { ...counts, retryAfterMs, reason: 'busy', stated }]]);
}

/** The record of a lane after refusals, reported so many windows after each other. */
function reportsIn(inOrder: readonly number[], elapsed: (no: number) => number): LaneState {
  let state = unknownLane('lab', 0);
  for (const [no, waitMs] of [0, ...inOrder, 0].entries()) {
    const elapsedMs = elapsed(no) * windowMs(state);
    const use = { isCheckIn: true, isHungry: true, usedRatio: 0, models: report(waitMs) };
    state = afterReport(state, use, { elapsedMs, nowMs: state.atMs + elapsedMs });
  }
  return state;
}

describe('of two refusals, the one with the longer wait counts', () => {
  it.each(waits)('in a report: $name', async ({ inOrder }) => {
    const states = new MemoryLaneStates();
    const clock = new FakeClock();
    const limiter = new LaneLimiter({ account: 'lab', states, clock, random: () => 0 });
    await limiter.sync();

    for (const waitMs of inOrder)
      limiter.settle({ ...aPermitRequest(), tokens: 10 }, refused(waitMs));
    await limiter.sync();

    expect((await states.read('lab'))?.models['m']).toMatchObject({ retryAfterMs: LONG_MS });
  });

  it.each(waits)('in what the lane is said to wait for: $name', async ({ inOrder }) => {
    const clock = new SimulatedClock();
    const states = new MemoryLaneStates();
    const governor = new LaneGovernor({ states, clock, random: () => 0 });
    const permits = Promise.all(inOrder.map(() => takePermit(governor, 'lab')));
    await clock.run(0);

    for (const [index, permit] of (await permits).entries()) permit.settle(refused(inOrder[index]));

    expect(governor.laneWaits).toMatchObject([{ until: clock.toIso(clock.now() + LONG_MS) }]);
  });

  it.each(waits)('of two processes, in one window: $name', ({ inOrder }) => {
    const state = reportsIn(inOrder, (no) => (no === 0 || no === 3 ? 1 : 0));

    expect(state.models['m']?.holdMs).toBe(LONG_MS);
  });

  it.each(waits)('in one window after the other: $name', ({ inOrder }) => {
    const [first = 0] = inOrder;
    const state = reportsIn(inOrder, () => 1);

    const passedMs = first === LONG_MS ? 2 * windowMs(state) : windowMs(state);
    expect(stateAt(state, state.atMs).models['m']?.holdMs).toBeCloseTo(LONG_MS - passedMs, -3);
  });
});

describe('what happens to one leaves the other alone:', () => {
  it('a model that is held, another of its lane', () => {
    const [states, clock] = [new MemoryLaneStates(), new FakeClock()];
    const limiter = new LaneLimiter({ account: 'lab', states, clock, random: () => 0 });
    const state = reportsIn([LONG_MS], () => 1);
    limiter.note({ ...state, atMs: clock.now() }, 0);
    const waitMs = (model: string) =>
      limiter.waitMs({ ...aPermitRequest({ model }), tokens: 1 }, 0);

    expect([waitMs('m') > 0, waitMs('n'), waitMs('m') > 0]).toEqual([true, 0, true]);
  });

  it('a model that was refused, another of its lane that has only to be served', async () => {
    const clock = new SimulatedClock();
    const states = new MemoryLaneStates();
    const governor = new LaneGovernor({ states, clock, random: () => 0 });
    const permit = takePermit(governor, 'lab');
    await clock.run(0);
    (await permit).settle(refused(LONG_MS));
    governor.pause();
    const saidBefore = governor.laneWaits.length;

    void governor.grant(aPermitRequest({ model: 'n' }));

    expect([saidBefore, governor.laneWaits]).toEqual([1, []]);
  });

  it('a record that was read before, what is known since', () => {
    const [states, clock] = [new MemoryLaneStates(), new FakeClock()];
    const limiter = new LaneLimiter({ account: 'lab', states, clock, random: () => 0 });
    limiter.note({ ...reportsIn([LONG_MS], () => 1), atMs: clock.now() }, 10);

    limiter.note(undefined, 5);

    expect(limiter.waitMs({ ...aPermitRequest(), tokens: 1 }, 10)).toBeGreaterThan(SHORT_MS);
  });

  it('a cell that stops to wait for its budget, those before it', async () => {
    const { budget, wait } = openBudgetOf(['lab'], false);
    const stopped = new AbortController();
    const first = wait('lab');
    const second = wait('lab', stopped.signal);

    stopped.abort();

    expect([await settledBy(first), await settledBy(second)]).toEqual([false, true]);
    budget.close();
    expect(await settledBy(first)).toBe(true);
  });

  it('a lane whose cells wait for their budget, another', async () => {
    const { wait } = openBudgetOf(['lab', 'spare'], true);

    void wait('lab');

    expect([await settledBy(wait('lab')), await settledBy(wait('spare'))]).toEqual([true, false]);
  });

  it('a lane without servers, another', () => {
    const health = new LaneHealth({ clock: new FakeClock(), random: () => 0 });
    const fail = (lane: string) =>
      health.noteFailure(lane, anError('connection-failed', { isUnsent: true }), {
        cell: 'q1',
        startedAtMs: 1,
      }).isOpening;

    const first = [fail('lab'), fail('spare'), fail('lab'), fail('spare')];
    health.noteResponse('spare', 1);

    expect([...first, fail('spare'), fail('lab')]).toEqual([
      ...[false, false, false, false],
      ...[false, true],
    ]);
  });
});

/** Cells of two kinds, of which something keeps the first from its call, and not the second. */
const pairs: readonly {
  readonly name: string;
  readonly group: StageGroup;
  readonly before: (stage: FakeStage) => Promise<unknown>;
  readonly second: { readonly run?: string; readonly config?: string; readonly id?: string };
}[] = [
  {
    name: 'the breaker of a model, another model of its lane',
    group: { configs: [{ name: 'direct' }, { name: 'second', model: 'lab/n' }] },
    before: ({ ledger }) => ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab/m' })),
    second: { config: 'second' },
  },
  {
    name: 'the breaker of a lane, another lane',
    group: { configs: [{ name: 'direct' }, { name: 'second', model: 'spare/m' }] },
    before: ({ ledger }) => ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab' })),
    second: { config: 'second' },
  },
  {
    name: 'the breaker of a lane, another whose name begins alike',
    group: { configs: [{ name: 'direct' }, { name: 'second', model: 'lab2/m' }] },
    before: ({ ledger }) => ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab' })),
    second: { config: 'second' },
  },
  {
    name: 'a held cell, the same question of another config',
    group: { configs: [{ name: 'direct' }, { name: 'second' }] },
    before: ({ ledger }) => ledger.claimCell(aCellKey(), 0, 'another'),
    second: { config: 'second' },
  },
  {
    name: 'a held cell, the same question of another run',
    group: { runCount: 2 },
    before: ({ ledger }) => ledger.claimCell(aCellKey(), 0, 'another'),
    second: { run: 'demo-r2' },
  },
  {
    name: 'the budget of a group, a model that costs nothing',
    group: {
      budgetUsd: 1,
      configs: [
        { name: 'direct', max_tokens: 200 },
        { name: 'second', model: 'lab/free', max_tokens: 200 },
      ],
    },
    before: async ({ ledger, budgets }) => {
      const record = await ledger.readGroup('demo');
      if (record === undefined) throw new Error('expected a group');
      const { header } = record;
      const prices = { ...header.spec.prices, 'lab/free': { input: 0, output: 0 } };
      const edited = { ...header, spec: { ...header.spec, prices } };
      await ledger.replaceHeader(header, edited);
      await openBudget(edited, loadGroup({ ...record, header: edited }).benchmark, budgets);
    },
    second: { config: 'second' },
  },
];

describe('what keeps one cell from its call leaves the other alone:', () => {
  it.each(pairs)('$name', async ({ group, before, second }) => {
    const stage = new FakeStage(({ model }) => aModelResponse({ servedModel: model }));
    await stage.enter(group);
    await before(stage);

    await stage.answer(await stage.deliver());
    await stage.answer(await stage.deliver(second));

    expect(stage.cell()?.state).not.toBe('done');
    expect(stage.cell(second)?.result).toMatchObject({ outcome: 'scored' });
    expect(stage.models.requests).toHaveLength(1);
  });
});

describe('a config that may call two lanes', () => {
  it.each([
    { lane: 'lab', sent: 0 },
    { lane: 'spare', sent: 0 },
    { lane: 'other', sent: 1 },
  ])('gets no tasks while the budget of either is reached: $lane', async ({ lane, sent }) => {
    const stage = new FakeStage();
    const solver = { solver: 'router' as const, models: ['lab/m', 'spare/m'], fail_over: true };
    await stage.enter({ configs: [{ name: 'direct', ...solver }] });
    const reached = { capNanoUsd: 10, spentNanoUsd: 10, refusedNanoUsd: 1 };
    stage.budgets.readAccounts = async () => [{ ...emptyAccount(lane), ...reached }];

    await dispatchTasks({ v: 1, group: 'demo', kind: 'refill' }, workPartOptions(), stage);

    expect(stage.queue.sent).toHaveLength(sent);
  });
});
