import {
  advanceBatch,
  type BatchWorker,
  type Clock,
  executeCell,
  Heartbeat,
  LaneHealth,
  limits,
  type Worker,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aBatchedCall,
  aBenchmark,
  aCellKey,
  aConfig,
  aLane,
  aModelResponse,
  anError,
} from '../../support/builders.ts';
import { FakeBatchClient } from '../../support/fake-batch-client.ts';
import { FakeBatches } from '../../support/fake-batches.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { PassingClock } from '../../support/passing-clock.ts';
import { SetClock } from '../../support/set-clock.ts';

const DAY_MS = 86_400_000;

/** What happens before a poll. */
interface Turn {
  /** Which process polls. */
  readonly process: number;
  /** What its clock is set by before it does, ms; undefined where it is left alone. */
  readonly setMs: number | undefined;
  /** The part of the wait that passes until then where its clock is set: that may end waits. */
  readonly passedRatio: number;
}

const offset = fc.integer({ min: -3 * DAY_MS, max: 3 * DAY_MS });
const histories = fc.record({
  /** How far the clocks of the processes are off. */
  offsets: fc.tuple(offset, offset),
  turns: fc.array(
    fc.record({
      process: fc.nat({ max: 1 }),
      setMs: fc.option(offset, { nil: undefined, freq: 3 }),
      passedRatio: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 8 },
  ),
  /** How long the vendor takes, and how long it does not know the name of what it has accepted, ms. */
  worksMs: fc.integer({ min: 1, max: 120_000 }),
  invisibleMs: fc.integer({ min: 0, max: 33_000 }),
});

const calm: Turn = { process: 0, setMs: undefined, passedRatio: 1 };

/** Polls until there is nothing left to wait for, in a history of clocks. */
async function follow(
  { offsets, turns }: { readonly offsets: readonly number[]; readonly turns: readonly Turn[] },
  truth: FakeClock,
  poll: (clock: Clock) => Promise<number | undefined>,
): Promise<void> {
  const clocks = offsets.map((offsetMs) => new SetClock(truth, offsetMs));
  let delayMs: number | undefined = 0;
  for (let round = 0; delayMs !== undefined; round += 1) {
    if (round > 500) throw new Error('expected an end');
    const { process, setMs, passedRatio } = turns[round] ?? calm;
    const clock = clocks[process];
    if (clock === undefined) throw new Error('expected a clock');
    truth.advance(setMs === undefined ? delayMs : Math.round(delayMs * passedRatio));
    clock.offsetMs += setMs ?? 0;
    delayMs = await poll(clock);
  }
}

describe('in every history of clocks that are set, or differ', () => {
  it('a response in the background is bought once, and took no longer than its polls', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ worksMs, invisibleMs, ...history }) => {
        const lane = aLane({ protocol: 'responses', timeoutMs: 600_000 });
        const benchmark = aBenchmark({
          configs: [aConfig({ isBackground: true })],
          lanes: new Map([[lane.name, lane]]),
        });
        const engine = new FakeEngine({ benchmark });
        const { clock: truth, ledger, queue } = engine;
        const { background } = engine.models;
        const startMs = truth.monotonicMs();
        background.onPoll = () => {
          const tookMs = truth.monotonicMs() - startMs;
          if (tookMs < invisibleMs) return anError('unknown-response');
          return tookMs < worksMs ? 'pending' : aModelResponse();
        };
        const delivery = await engine.deliver();
        const pollsOf = new Map<Clock, Worker['polls']>();

        await follow(history, truth, async (clock) => {
          const heartbeat = new Heartbeat({ ledger, queue, clock, owner: 'worker-1' });
          const polls = pollsOf.get(clock) ?? new Map();
          pollsOf.set(clock, polls);
          const worker = { ...engine.worker, clock, heartbeat, polls };
          const settlement = await executeCell(delivery, worker);
          return settlement.kind === 'acknowledge' ? undefined : settlement.delayMs;
        });

        const { result } = engine.ledger.cell(aCellKey()) ?? {};
        const tookMs = truth.monotonicMs() - startMs;
        const setCount = history.turns.length;
        expect(background.callIds).toHaveLength(1);
        expect(background.cancelled).toEqual([]);
        expect(result?.outcome).toBe('scored');
        expect(result?.latencyMs).toBeGreaterThan(0);
        expect(result?.latencyMs).toBeLessThanOrEqual(tookMs + setCount * limits.pollCapMs);
      }),
      { seed: 23, numRuns: 300 },
    );
  });

  it('a batch is bought once, and took no longer than its polls, however its submission ended', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.boolean(),
        async ({ worksMs, invisibleMs, ...history }, isResponseLost) => {
          const truth = new PassingClock();
          const ledger = new FakeLedger(truth);
          const batches = new FakeBatches();
          const vendor = new FakeBatchClient();
          const startMs = truth.monotonicMs();
          const tookMs = () => truth.monotonicMs() - startMs;
          const { submit, find } = vendor;
          vendor.submit = async (...submission) => {
            const accepted = await submit(...submission);
            if (isResponseLost) throw anError('connection-failed');
            return accepted;
          };
          vendor.find = async (...lost) =>
            tookMs() < invisibleMs ? undefined : await find.call(vendor, ...lost);
          vendor.poll = async () => {
            if (tookMs() < invisibleMs) throw anError('unknown-response');
            return tookMs() < worksMs ? { kind: 'pending' } : { kind: 'ended', problem: undefined };
          };
          const lane = aLane({ batch: { otherwise: 'batch' } });
          const worker: Omit<BatchWorker, 'clock'> = {
            ...{ owner: 'reconciler', batches, ledger, budget: undefined, roundMs: 0 },
            benchmark: aBenchmark({ lanes: new Map([['lab', lane]]) }),
            laneHealth: new LaneHealth({ clock: truth, random: () => 0 }),
            batchClientFor: () => vendor,
            observe: () => undefined,
            wake: async () => undefined,
            isGone: () => false,
          };
          await batches.enter('demo', aBatchedCall(), { requestCount: 1, bytes: 1e6 });

          await follow(history, truth, async (clock) => {
            const [batch] = await batches.list('demo');
            const { signal } = new AbortController();
            return batch && (await advanceBatch(batch, { ...worker, clock }, signal));
          });

          const entry = (await ledger.readJournal(aCellKey())).get('answer');
          const setCount = history.turns.length;
          expect(vendor.accepted).toHaveLength(1);
          expect(await batches.findCall(aCellKey(), 'answer')).toBeUndefined();
          expect(entry?.call.latencyMs).toBeGreaterThan(0);
          expect(entry?.call.latencyMs).toBeLessThanOrEqual(tookMs() + setCount * limits.pollCapMs);
        },
      ),
      { seed: 23, numRuns: 300 },
    );
  });
});
