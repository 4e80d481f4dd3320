import { Heartbeat, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aDelivery, anError } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';

const one = aCellKey({ id: 'q1' });
const two = aCellKey({ id: 'q2' });

describe('a heartbeat', () => {
  it('extends the leases and deliveries of everything in flight, together', async () => {
    const { heartbeat, ledger, queue, claim } = await setUp();
    const deliveries = [aDelivery({ receipt: '1' }), aDelivery({ receipt: '2' })] as const;
    await claim(one, two);
    using _first = heartbeat.hold(one, deliveries[0]);
    using _second = heartbeat.hold(two, deliveries[1]);

    await heartbeat.extendAll();

    expect(ledger.log.filter((method) => method === 'extendLeases')).toEqual(['extendLeases']);
    expect(queue.extended).toEqual([deliveries]);
  });

  it('keeps a cell from other workers while heartbeats continue', async () => {
    const { heartbeat, ledger, clock, claim } = await setUp();
    await claim(one);
    using _kept = heartbeat.hold(one, aDelivery());

    for (let beat = 0; beat < 5; beat += 1) {
      clock.advance(limits.heartbeatMs);
      await heartbeat.extendAll();
    }

    expect(await ledger.claimCell(one, 0, 'worker-2')).toEqual({ kind: 'held' });
  });

  it('stops extending a disposed lease', async () => {
    const { heartbeat, queue, claim } = await setUp();
    await claim(one);

    heartbeat.hold(one, aDelivery())[Symbol.dispose]();
    await heartbeat.extendAll();

    expect(queue.extended).toEqual([]);
  });

  it.each([{ id: 'q2' }, { config: 'other' }, { run: 'demo-r2' }])(
    'tells a cell that another worker took over, and not the one with another %o',
    async (difference) => {
      const { heartbeat, ledger, clock, claim } = await setUp();
      const other = { ...one, ...difference };
      await claim(other, one);
      using kept = heartbeat.hold(other, aDelivery({ receipt: '1' }));
      using lost = heartbeat.hold(one, aDelivery({ receipt: '2' }));

      clock.advance(limits.leaseMs);
      await ledger.claimCell(one, 0, 'worker-2');
      await heartbeat.extendAll();

      expect(await lost.confirm()).toBe(false);
      expect(await kept.confirm()).toBe(true);
      // The call in flight is paid: it ends and is recorded.
      expect(lost.signal.aborted).toBe(false);
    },
  );

  it('confirms a lease without asking the store as long as the last heartbeat is recent', async () => {
    const { heartbeat, ledger, clock, claim } = await setUp();
    await claim(one);
    using lease = heartbeat.hold(one, aDelivery());
    const countAsked = () => ledger.log.filter((method) => method === 'extendLeases').length;

    clock.advance(limits.leaseMs / 2 - 1);
    await heartbeat.extendAll();
    clock.advance(limits.leaseMs / 2 - 1);
    const recent = [await lease.confirm(), countAsked()];
    clock.advance(1);
    const late = [await lease.confirm(), countAsked()];

    expect([recent, late]).toEqual([
      [true, 1],
      [true, 2],
    ]);
  });

  it('tells everything to stop, also what is claimed afterwards', async () => {
    const { heartbeat, claim } = await setUp();
    await claim(one, two);
    using before = heartbeat.hold(one, aDelivery());
    const reason = anError('interrupted');

    heartbeat.stopAll(reason);
    using after = heartbeat.hold(two, aDelivery());

    expect(before.signal.reason).toBe(reason);
    expect(after.signal.reason).toBe(reason);
  });

  it.each([
    { what: 'half a lease has passed', passMs: limits.leaseMs / 2, stepMs: 0, asks: 1 },
    { what: 'the clock was set back', passMs: 0, stepMs: -3_600_000, asks: 1 },
    { what: 'the clock was set back meanwhile', passMs: 40_000, stepMs: -40_000, asks: 1 },
    { what: 'the machine was asleep', passMs: 0, stepMs: 600_000, asks: 1 },
    { what: 'less time has passed', passMs: limits.leaseMs / 2 - 1, stepMs: 0, asks: 0 },
  ])('asks $asks times whether the lease still holds when $what', async (each) => {
    const { heartbeat, ledger, clock, claim } = await setUp();
    await claim(one);
    using held = heartbeat.hold(one, aDelivery());

    clock.advance(each.passMs);
    clock.setWallClock(clock.now() + each.stepMs);
    const isHeld = await held.confirm();

    expect(isHeld).toBe(true);
    expect(ledger.log.filter((method) => method === 'extendLeases')).toHaveLength(each.asks);
  });

  it('extends leases at its interval until it is stopped', async () => {
    const { heartbeat, queue, clock, claim } = await setUp();
    await claim(one);
    using _kept = heartbeat.hold(one, aDelivery());
    const end = new AbortController();

    const running = heartbeat.run(end.signal);
    for (let beat = 1; beat <= 3; beat += 1) {
      clock.advance(limits.heartbeatMs - 1);
      await untilAsleep(clock);
      expect(queue.extended.length).toBe(beat - 1);
      clock.advance(1);
      await untilAsleep(clock);
      expect(queue.extended.length).toBe(beat);
    }
    end.abort();
    await running;

    expect(clock.sleeperCount).toBe(0);
    expect(queue.extended.length).toBe(3);
  });

  it('ends with the error of the store', async () => {
    const { heartbeat, ledger, clock, claim } = await setUp();
    await claim(one);
    using _kept = heartbeat.hold(one, aDelivery());
    ledger.failNext('extendLeases', anError('store-unusable'));

    const running = heartbeat.run(new AbortController().signal);
    clock.advance(limits.heartbeatMs);

    await expect(running).rejects.toMatchObject({ code: 'store-unusable' });
  });

  it('continues after a failed heartbeat if onFailure is set', async () => {
    const { ledger, queue, clock, claim } = await setUp();
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push(error);
    const heartbeat = new Heartbeat({ ledger, queue, clock, owner: 'worker-1', onFailure });
    await claim(one);
    using kept = heartbeat.hold(one, aDelivery());
    const failure = anError('store-unavailable');
    ledger.failNext('extendLeases', failure);
    const beating = new AbortController();

    const running = heartbeat.run(beating.signal);
    for (let beat = 0; beat < 2; beat += 1) {
      await untilAsleep(clock);
      clock.advance(limits.heartbeatMs);
    }
    await untilAsleep(clock);
    beating.abort();
    await running;

    expect(failures).toEqual([failure]);
    expect(ledger.log.filter((method) => method === 'extendLeases')).toHaveLength(2);
    expect(kept.signal.aborted).toBe(false);
  });
});

async function setUp() {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  const queue = new FakeTaskQueue(clock);
  const heartbeat = new Heartbeat({ ledger, queue, clock, owner: 'worker-1' });
  const claim = async (...keys: readonly (typeof one)[]) => {
    for (const key of keys) await ledger.claimCell(key, 0, 'worker-1');
  };
  return { clock, ledger, queue, heartbeat, claim };
}

async function untilAsleep(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  expect(clock.sleeperCount).toBe(1);
}
