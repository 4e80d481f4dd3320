import { LaneGovernor, LaneHealth, loadGroup, openBudget } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { ModelReport } from '../../../packages/core/src/domain/lane-state.ts';
import { LaneLimiter } from '../../../packages/core/src/lanes/lane-limiter.ts';
import {
  afterReport,
  stateAt,
  unknownLane,
  windowMs,
} from '../../../packages/core/src/lanes/lane-policy.ts';
import { aCellKey, aModelResponse, anError, anOpenBreaker } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeStage, type StageGroup } from '../../support/fake-stage.ts';
import { MemoryLaneStates } from '../../support/memory-lane-states.ts';
import { answered, aPermitRequest, refused } from '../../support/permits.ts';
import { SimulatedClock } from '../../support/simulated-clock.ts';

const LONG_MS = 30_000;
const SHORT_MS = 1_000;
const waits = [
  { name: 'longer, then shorter', inOrder: [LONG_MS, SHORT_MS] },
  { name: 'shorter, then longer', inOrder: [SHORT_MS, LONG_MS] },
];

/** A governor whose calls are refused one after the other, to wait for so long each. */
async function refuseInOrder(inOrder: readonly number[], models: readonly string[] = []) {
  const clock = new SimulatedClock();
  const states = new MemoryLaneStates();
  const governor = new LaneGovernor({ states, clock, random: () => 0 });
  const grants = inOrder.map((_, index) =>
    governor.grant(aPermitRequest({ model: models[index] ?? 'm' })),
  );
  await clock.run(0);
  for (const [index, waitMs] of inOrder.entries()) {
    const grant = await grants[index];
    if (grant?.kind === 'granted') grant.permit.settle(refused(waitMs));
  }
  /** When a call of a model is granted, monotonic ms. */
  const grantedAtMs = async (model: string) => {
    let atMs = Number.POSITIVE_INFINITY;
    void governor.grant(aPermitRequest({ model })).then((grant) => {
      atMs = clock.monotonicMs();
      if (grant.kind === 'granted') grant.permit.settle(answered);
    });
    await clock.run(2 * LONG_MS);
    return atMs;
  };
  return { clock, governor, grantedAtMs };
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
    const { clock, governor } = await refuseInOrder(inOrder);

    expect(governor.laneWaits).toMatchObject([{ until: clock.toIso(clock.now() + LONG_MS) }]);
  });

  const report = (retryAfterMs: number): ReadonlyMap<string, ModelReport> => {
    const stated = { requestsPerMinute: null, tokensPerMinute: null };
    const counts = { answered: 0, sent: 5, refused: 5, tokens: 0, countedMs: 1_000 };
    return new Map([['m', { ...counts, retryAfterMs, reason: 'busy', stated }]]);
  };
  const reportsIn = (inOrder: readonly number[], elapsed: (no: number) => number) => {
    let state = unknownLane('lab', 0);
    for (const [no, waitMs] of [0, ...inOrder, 0].entries()) {
      const elapsedMs = elapsed(no) * windowMs(state);
      const use = { isCheckIn: true, isHungry: true, usedRatio: 0, models: report(waitMs) };
      state = afterReport(state, use, { elapsedMs, nowMs: state.atMs + elapsedMs });
    }
    return state;
  };

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
  it('a refused model, another of its lane', async () => {
    const { clock, grantedAtMs } = await refuseInOrder([LONG_MS, SHORT_MS], ['m', 'm']);
    await clock.run(8_000);

    expect(await grantedAtMs('n')).toBeLessThan(8_100);
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
