import { advanceBatch, CallBudget, limits, openBudget, ThriceError } from '@thrice/core';
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
    announcedAtMs: clock.now(),
    endpoint: 'http://127.0.0.1:1/v1',
    vendorId: 'batch_1',
  };
  await batches.replace(closed, accepted);
  const woken: string[] = [];
  const poll = (error: ThriceError) =>
    advanceBatch(
      accepted,
      {
        ...{ owner, benchmark, ledger, budget, clock, observe, batches },
        batchClientFor: () => {
          const refuse = async () => await Promise.reject(error);
          return { ...emptyClient, poll: refuse };
        },
        wake: async (cells) => void woken.push(...cells.map(({ id }) => id)),
        isGone: () => false,
      },
      new AbortController().signal,
    );
  return { batches, budgets, clock, poll, call, woken };
}

function unused(): never {
  throw new ThriceError({ code: 'invariant-violated', message: 'expected a poll' });
}

const emptyClient = {
  limits: { requestCount: 1, bytes: 1_000_000, hasOneModel: true },
  submit: unused,
  results: unused,
  cancel: unused,
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
