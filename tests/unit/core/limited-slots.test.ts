import { describe, expect, it } from 'vitest';
import { callLimitedLane, type SlotUser } from '../../support/limited-slots.ts';

/** How long a slot is lost whose holder has died, seconds. */
const LOST_S = 60;

function usersOf(group: string, functionCount: number, maxConcurrency: number): SlotUser {
  return { group, functionCount, maxConcurrency };
}

describe('functions of a stage on a lane whose spec limits the calls in flight', () => {
  it.each([
    [1, 4],
    [8, 4],
    [64, 4],
    [1, 16],
    [8, 16],
    [64, 16],
  ])('never exceed it and use nine tenths of it: %i over %i', async (count, limit) => {
    const users = [usersOf('demo', count, limit)];

    const { most, meanInFlight } = await callLimitedLane({ users, callMs: 2_000, seconds: 120 });

    expect(most).toBe(Math.min(count, limit));
    expect(meanInFlight(5, 120)).toBeGreaterThan(0.9 * Math.min(count, limit));
  });

  it.each([
    [8, 4, 60],
    [64, 4, 60],
    [64, 16, 20],
  ])(
    'never exceed it although some die, and lose only a minute of each slot: %i over %i',
    async (count, limit, deathEveryS) => {
      const { most, meanInFlight } = await callLimitedLane({
        users: [usersOf('demo', count, limit)],
        callMs: 2_000,
        seconds: 240,
        deathEveryS,
      });

      const lost = LOST_S / deathEveryS;
      expect(most).toBe(limit);
      expect(meanInFlight(5, 240)).toBeGreaterThan(0.9 * (limit - lost));
      // They were there to be lost.
      expect(meanInFlight(5, 240)).toBeLessThan(limit - lost / 2);
    },
  );

  it('use it also with one slot, and with calls that outlast a wait', async () => {
    const one = await callLimitedLane({
      users: [usersOf('demo', 8, 1)],
      callMs: 2_000,
      seconds: 120,
    });
    const slow = await callLimitedLane({
      users: [usersOf('demo', 32, 2)],
      callMs: 60_000,
      seconds: 1_800,
    });

    expect([one.most, slow.most]).toEqual([1, 2]);
    expect(one.meanInFlight(5, 120)).toBeGreaterThan(0.9);
    expect(slow.meanInFlight(60, 1_800)).toBeGreaterThan(1.8);
    expect(slow.sentBackCount).toBeGreaterThan(0);
  });

  it('serve the cells about in the order in which they came', async () => {
    const users = [usersOf('demo', 64, 4)];

    const report = await callLimitedLane({ users, callMs: 2_000, seconds: 240 });

    // 60 wait while two are served a second.
    expect(report.longestWaitS).toBeLessThan(45);
    expect(report.sentBackCount).toBe(0);
  });

  it('pay two writes for a call that need not wait, and one more for one that does', async () => {
    const few = await callLimitedLane({
      users: [usersOf('demo', 8, 16)],
      callMs: 2_000,
      seconds: 120,
    });
    const many = await callLimitedLane({
      users: [usersOf('demo', 64, 16)],
      callMs: 2_000,
      seconds: 120,
    });

    expect(few.requestsPerCall('take', 'giveBack')).toBeCloseTo(2, 1);
    expect(few.requestsPerCall('read')).toBeLessThan(0.1);
    expect(few.requestsPerCall('join', 'noteWaiting')).toBe(0);
    expect(many.requestsPerCall('take', 'giveBack', 'join', 'noteWaiting')).toBeLessThan(3.2);
    expect(many.requestsPerCall('read')).toBeLessThan(15);
  });
});

describe('groups on a lane whose specs limit the calls in flight', () => {
  it.each([
    [25, 25, 16],
    [45, 5, 4],
    [60, 6, 5],
    [30, 30, 1],
  ])('share them within a tenth of fairly: %i and %i functions over %i', async (a, b, limit) => {
    const users = [usersOf('a', a, limit), usersOf('b', b, limit)];

    const report = await callLimitedLane({ users, callMs: 1_000, seconds: 300 });

    const [ofA, ofB] = ['a', 'b'].map((group) => report.meanInFlight(20, 300, group));
    expect(Math.abs((ofA ?? 0) / ((ofA ?? 0) + (ofB ?? 0)) - 0.5)).toBeLessThan(0.05);
    expect(report.most).toBe(limit);
    expect(report.meanInFlight(20, 300)).toBeGreaterThan(0.88 * limit);
  });

  it('share them slot by slot, however long their calls take', async () => {
    const slow = { ...usersOf('slow', 30, 4), callMs: 10_000 };
    const users = [slow, { ...usersOf('fast', 30, 4), callMs: 1_000 }];

    const report = await callLimitedLane({ users, callMs: 1_000, seconds: 300 });

    const [ofSlow, ofFast] = ['slow', 'fast'].map((each) => report.meanInFlight(20, 300, each));
    expect(ofSlow).toBeGreaterThan(1.8);
    expect(ofFast).toBeGreaterThan(1.6);
  });

  it('leave to one what the other does not need', async () => {
    const users = [usersOf('a', 60, 4), usersOf('b', 1, 4)];

    const report = await callLimitedLane({ users, callMs: 2_000, seconds: 120 });

    expect(report.meanInFlight(20, 120, 'b')).toBeGreaterThan(0.85);
    expect(report.meanInFlight(20, 120)).toBeGreaterThan(3.6);
  });

  it('keep the smallest of their limits while its group calls, and no longer', async () => {
    const small = { ...usersOf('small', 20, 4), fromSecond: 60, untilSecond: 120 };
    const users = [usersOf('large', 60, 16), small];

    const report = await callLimitedLane({ users, callMs: 2_000, seconds: 240 });

    expect(report.meanInFlight(10, 60)).toBeGreaterThan(0.9 * 16);
    expect(report.mostBetween(65, 120)).toBe(4);
    expect(report.meanInFlight(65, 120, 'small')).toBeGreaterThan(1.8);
    expect(report.meanInFlight(180, 240)).toBeGreaterThan(0.9 * 16);
    // It never called while more than its limit were in flight.
    expect(report.mostDuring('small')).toBe(4);
  });
});
