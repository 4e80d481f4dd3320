import {
  advanceBatch,
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

/** A batch of one call under a budget, which the vendor has accepted. */
async function openAccepted() {
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
  const accepted = {
    ...closed,
    state: 'accepted' as const,
    owner,
    submittedAtMs: clock.now(),
    endpoint: 'http://127.0.0.1:1/v1',
    vendorId: 'batch_1',
  };
  await batches.replace(closed, accepted);
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
      return { ...emptyClient, poll: respond, cancel: respond, results };
    },
    wake: async (ended) => void woken.push(...ended.map(({ cell }) => cell.id)),
    isGone: () => false,
  });
  const { signal } = new AbortController();
  const poll = (answer: ThriceError | BatchState) =>
    advanceBatch(accepted, workerWith(answer), signal);
  const cancel = (answer: ThriceError | BatchState) =>
    cancelBatch(accepted, workerWith(answer), signal);
  return { accepted, batches, budgets, clock, ledger, poll, cancel, call, woken, observed };
}

function unused(): never {
  throw new ThriceError({ code: 'invariant-violated', message: 'expected a poll' });
}

const emptyClient = {
  limits: { requestCount: 1, bytes: 1_000_000, hasOneModel: true },
  submit: unused,
  results: unused,
  find: unused,
};

describe('a batch that its vendor does not know any more', () => {
  it('counts at its worst case, because it was accepted', async () => {
    const { batches, budgets, clock, poll, call, woken } = await openAccepted();
    clock.advance(limits.responseVisibleMs);

    await poll(anError('unknown-response'));

    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({
      state: 'unanswered',
    });
    expect(woken).toEqual([call.cell.id]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });

  it('is asked for again while the vendor may not show it yet', async () => {
    const { batches, budgets, poll, call } = await openAccepted();

    const waitMs = await poll(anError('unknown-response'));

    expect(waitMs).toBeGreaterThan(0);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(await budgets.listOpen(group)).toHaveLength(1);
  });
});

describe('a batch of a cancelled group', () => {
  it('is removed where its vendor does not know it any more', async () => {
    const { batches, budgets, clock, cancel, call } = await openAccepted();
    clock.advance(limits.responseVisibleMs);

    const waitMs = await cancel(anError('unknown-response'));

    expect(waitMs).toBeUndefined();
    expect(await batches.list(group)).toEqual([]);
    expect(await budgets.listKept(group)).toMatchObject([{ callId: call.callId }]);
  });
});

describe('a batch for which the queue of its vendor has no room', () => {
  const full = { kind: 'ended', problem: anError('model-rate-limited') } as const;

  it('is sent again later while another batch of its group makes room', async () => {
    const { accepted, batches, poll, call, woken, ledger, observed } = await openAccepted();
    const other = { ...aBatchedCall(), callId: 'other', cell: { ...call.cell, id: 'q2' } };
    await batches.enter(group, other, { requestCount: 1, bytes: 1_000_000 });
    const [, closed] = await batches.list(group);
    if (closed === undefined) throw new Error('expected another batch');
    await batches.replace(closed, { ...accepted, batchId: closed.batchId, vendorId: 'batch_2' });

    const waitMs = await poll(full);

    expect(waitMs).toBe(limits.batchPollCapMs);
    expect((await batches.list(group)).map(({ state }) => state)).toEqual(['closed', 'accepted']);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(observed).toMatchObject([{ kind: 'batch-postponed', waitMs }]);
    expect(await ledger.listOpenBreakers()).toEqual([]);
    expect(woken).toEqual([]);
  });

  it('blocks its model where no other batch of its group will make room', async () => {
    const { batches, budgets, poll, call, ledger } = await openAccepted();

    await poll(full);

    expect(await ledger.listOpenBreakers()).toMatchObject([
      { breakerKey: 'lab/m', error: { code: 'quota-exhausted' } },
    ]);
    expect(await batches.list(group)).toMatchObject([{ state: 'closed' }]);
    expect(await batches.findCall(call.cell, call.place.step)).toMatchObject({ state: 'waiting' });
    expect(await budgets.listOpen(group)).toHaveLength(1);
  });
});

describe('a batch whose results its vendor does not keep any more', () => {
  it('counts at its worst case, and its calls go to the next one', async () => {
    const { batches, budgets, poll, call, woken } = await openAccepted();

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
    const { poll, observed } = await openAccepted();
    const problem = anError('invalid-request');

    await poll({ kind: 'ended', problem });

    expect(observed).toMatchObject([{ kind: 'batch-ended', error: problem, unansweredCount: 1 }]);
  });
});
