import {
  advanceBatch,
  type Batch,
  type BatchState,
  type BatchWorker,
  CallBudget,
  cancelBatch,
  LaneHealth,
  limits,
  openBudget,
  ThriceError,
  type WorkerEvent,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aBatchedCall,
  aBenchmark,
  aConfig,
  aGroupHeader,
  aLane,
  anError,
} from '../../support/builders.ts';
import { FakeBatches } from '../../support/fake-batches.ts';
import { FakeBudgets } from '../../support/fake-budgets.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';

type AcceptedBatch = Extract<Batch, { readonly state: 'accepted' }>;

const group = 'demo';
/** A token costs a dollar, and half of that in a batch. */
const prices = new Map([['lab/m', { input: 1_000_000, output: 1_000_000, batch: 0.5 }]]);
const configs = [aConfig({ maxTokens: 10 })];
const benchmark = aBenchmark({
  budgetUsd: 10_000,
  prices,
  configs,
  lanes: new Map([['lab', aLane()]]),
});

/** A batch of one call under a budget, which the vendor has accepted, or is looked for. */
async function openSent({
  state = 'accepted',
  ageMs = 0,
}: {
  readonly state?: 'accepted' | 'announced';
  readonly ageMs?: number;
} = {}) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  const batches = new FakeBatches();
  const budgets = new FakeBudgets(ledger, clock);
  await openBudget(aGroupHeader({ group, runs: ['demo-r1'] }), benchmark, budgets);
  const owner = 'worker-1';
  const observe = () => undefined;
  const budget = new CallBudget({ group, owner, benchmark, budgets, clock, observe });
  const base = aBatchedCall();
  const call = { ...base, request: { ...base.request, maxTokens: 10 } };
  const { step } = call.place;
  await budget.reserve(call.cell, { ...call, step, isBatched: true });
  await batches.enter(group, call, { requestCount: 1, bytes: 1_000_000 });
  const [closed] = await batches.list(group);
  if (closed === undefined) throw new Error('expected a batch');
  const times = { submittedAtMs: clock.now(), polledAtMs: clock.now(), ageMs };
  const announced: Batch = { ...closed, state: 'announced', owner, ...times };
  const named = { endpoint: 'http://127.0.0.1:1/v1', vendorId: 'batch_1' };
  const accepted: AcceptedBatch = { ...announced, state: 'accepted', ...named };
  const sent = state === 'accepted' ? accepted : announced;
  await batches.replace(closed, sent);
  const woken: string[] = [];
  const observed: WorkerEvent[] = [];
  const laneHealth = new LaneHealth({ clock, random: () => 0 });
  /** A worker whose vendor answers with a state, or an error. */
  const workerWith = (answer: ThriceError | BatchState): BatchWorker => ({
    ...{ owner, benchmark, ledger, budget, clock, batches, laneHealth },
    observe: (event) => void observed.push(event),
    batchClientFor: () => {
      const respond = async () => {
        if (answer instanceof ThriceError) throw answer;
        return answer;
      };
      const results = () => {
        throw anError('unknown-response');
      };
      const find = async () => undefined;
      return { ...emptyClient, poll: respond, cancel: respond, results, find };
    },
    wake: async (ended) => void woken.push(...ended.map(({ cell }) => cell.id)),
    isGone: () => false,
    roundMs: 0,
  });
  const { signal } = new AbortController();
  const poll = (answer: ThriceError | BatchState) => advanceBatch(sent, workerWith(answer), signal);
  const cancel = (answer: ThriceError | BatchState) =>
    cancelBatch(sent, workerWith(answer), signal);
  /** Looks for it at a vendor that does not have it. */
  const find = () => advanceBatch(sent, workerWith(anError('unknown-response')), signal);
  return { accepted, find, batches, budgets, clock, ledger, poll, cancel, call, woken, observed };
}

function unused(): never {
  throw new ThriceError({ code: 'invariant-violated', message: 'expected a poll' });
}

const emptyClient = {
  limits: { requestCount: 1, bytes: 1_000_000, hasOneModel: true },
  submit: unused,
  results: unused,
};

describe('a batch that its vendor does not know any more', () => {
  it('counts at its worst case, because it was accepted', async () => {
    const { batches, budgets, poll, call, woken } = await openSent({
      ageMs: limits.responseVisibleMs,
    });

    await poll(anError('unknown-response'));

    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({
      state: 'unanswered',
    });
    expect(woken).toEqual([call.cell.id]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });

  it('is asked for again while the vendor may not show it yet', async () => {
    const { batches, budgets, poll, call } = await openSent();

    const waitMs = await poll(anError('unknown-response'));

    expect(waitMs).toBeGreaterThan(0);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(await budgets.listOpen(group)).toHaveLength(1);
  });
});

describe('a batch of a cancelled group', () => {
  it('is removed where its vendor does not know it any more', async () => {
    const { batches, budgets, cancel, call } = await openSent({ ageMs: limits.responseVisibleMs });

    const waitMs = await cancel(anError('unknown-response'));

    expect(waitMs).toBeUndefined();
    expect(await batches.list(group)).toEqual([]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });
});

describe('a batch of which nobody knows whether its vendor has accepted it', () => {
  it('counts at its worst case once it has been looked for long enough', async () => {
    const { batches, budgets, find, call, woken } = await openSent({
      state: 'announced',
      ageMs: limits.batchSearchMs,
    });

    const waitMs = await find();

    expect(waitMs).toBeUndefined();
    expect(await batches.list(group)).toEqual([]);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({
      state: 'refused',
      refusal: { code: 'worker-died' },
    });
    expect(woken).toEqual([call.cell.id]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });

  it('is looked for again before that, however far the clock is set forward', async () => {
    const { batches, clock, find } = await openSent({ state: 'announced' });
    clock.setWallClock(clock.now() + 86_400_000);

    const waitMs = await find();

    expect(waitMs).toBeGreaterThan(0);
    expect(await batches.list(group)).toMatchObject([{ state: 'announced' }]);
  });
});

/** Has a vendor accept another batch of the group, of one call. */
async function sendOther(
  batches: FakeBatches,
  accepted: AcceptedBatch,
  parts: { readonly lane?: string; readonly model?: string },
): Promise<void> {
  await batches.enter(group, aBatchedCall({ id: 'q2', ...parts }), { requestCount: 1, bytes: 1e6 });
  const closed = (await batches.list(group)).at(-1);
  if (closed?.state !== 'closed') throw new Error('expected another batch');
  const { lane, model } = closed;
  const other = { lane, model, batchId: closed.batchId, vendorId: 'batch_2' };
  await batches.replace(closed, { ...accepted, ...other });
}

describe('a batch for which the queue of its vendor has no room', () => {
  const full = { kind: 'ended', problem: anError('model-rate-limited') } as const;

  it('is sent again later while another batch of its group makes room', async () => {
    const { accepted, batches, poll, call, woken, ledger, observed } = await openSent();
    await sendOther(batches, accepted, {});

    const waitMs = await poll(full);

    expect(waitMs).toBe(limits.batchPollCapMs);
    expect((await batches.list(group)).map(({ state }) => state)).toEqual(['closed', 'accepted']);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(observed).toMatchObject([{ kind: 'batch-postponed', waitMs }]);
    expect(await ledger.listOpenBreakers()).toEqual([]);
    expect(woken).toEqual([]);
  });

  it.each([
    ['no other batch', undefined],
    ['only a batch of another model', { model: 'n' }],
    ['only a batch of another lane', { lane: 'b' }],
  ])('blocks its model where %s of its group is at a vendor', async (_, others) => {
    const { accepted, batches, budgets, poll, call, ledger } = await openSent();
    if (others !== undefined) await sendOther(batches, accepted, others);

    await poll(full);

    expect(await ledger.listOpenBreakers()).toMatchObject([
      { breakerKey: 'lab/m', error: { code: 'quota-exhausted' } },
    ]);
    expect((await batches.list(group))[0]).toMatchObject({ state: 'closed', model: 'm' });
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(await budgets.listOpen(group)).toHaveLength(1);
  });
});

describe('a batch whose results its vendor does not keep any more', () => {
  it('counts at its worst case, and its calls go to the next one', async () => {
    const { batches, budgets, poll, call, woken } = await openSent();

    await poll({ kind: 'ended', problem: undefined });

    expect(await batches.list(group)).toEqual([]);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({
      state: 'unanswered',
    });
    expect(woken).toEqual([call.cell.id]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });
});

describe('the end of a batch', () => {
  it('is told with the reason for which the vendor has refused it as a whole', async () => {
    const { poll, observed } = await openSent();
    const problem = anError('invalid-request');

    await poll({ kind: 'ended', problem });

    expect(observed).toMatchObject([{ kind: 'batch-ended', error: problem, unansweredCount: 1 }]);
  });
});
