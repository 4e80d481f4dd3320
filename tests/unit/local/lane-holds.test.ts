import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LaneShare } from '../../../packages/local/src/work/lane-share.ts';
import { SlotGovernor } from '../../../packages/local/src/work/slot-governor.ts';
import { aLane } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLaneLimits } from '../../support/fake-lane-limits.ts';
import { type HeldPermit, refused, takePermit } from '../../support/permits.ts';
import { settledBy } from '../../support/settled-by.ts';
import { TickingClock } from '../../support/ticking-clock.ts';

/** Calls that are refused together: so many that there must be a limit. */
const REFUSED_COUNT = 16;
/** How long after a hold the first call may come at the latest, ms: another process may have the first block. */
const SLACK_MS = 1_000;

/** Opens a process with two lanes whose limits are shared. */
function openProcess(clock: FakeClock): SlotGovernor {
  const limits = new FakeLaneLimits(clock);
  const lanes = ['a', 'b'];
  const share = (name: string) =>
    new LaneShare({ lane: aLane({ name }), owner: 'ann', group: 'demo', limits, clock });
  return new SlotGovernor({
    clock,
    total: 2 * REFUSED_COUNT,
    perLane: new Map(lanes.map((lane) => [lane, REFUSED_COUNT])),
    random: () => 0,
    shares: new Map(lanes.map((lane) => [lane, share(lane)])),
  });
}

/** Passes time from one pending sleep to the next. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  const endMs = clock.monotonicMs() + ms;
  await settledBy(Promise.resolve());
  for (;;) {
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return;
    clock.advance(Math.max(1, Math.min(leftMs, clock.nextDueInMs ?? leftMs)));
    await settledBy(Promise.resolve());
  }
}

/** Has a lane refuse so many calls that it is held. */
async function hold(governor: SlotGovernor, retryAfterMs: number, lane = 'a'): Promise<void> {
  const permits: HeldPermit[] = [];
  for (let no = 0; no < REFUSED_COUNT; no += 1) permits.push(await takePermit(governor, lane));
  for (const permit of permits) await permit.settle(refused(retryAfterMs));
  await settledBy(Promise.resolve());
}

describe('a lane that is held', () => {
  it('is granted nothing until the requested wait is over; other lanes are', async () => {
    const clock = new FakeClock();
    const governor = openProcess(clock);
    await hold(governor, 7_000);
    const waiting = takePermit(governor, 'a');
    using _other = await takePermit(governor, 'b');

    await pass(clock, 6_999);
    const isEarly = await settledBy(waiting);
    await pass(clock, SLACK_MS);
    using permit = await waiting;

    expect(isEarly).toBe(false);
    expect(permit.waitMs).toBeGreaterThanOrEqual(7_000);
  });

  it('says until when and why, however many callers wait', async () => {
    const clock = new FakeClock();
    const governor = openProcess(clock);
    await hold(governor, 5_000);
    const waiting = takePermit(governor, 'a');

    const during = governor.laneWaits;
    await pass(clock, 5_000 + SLACK_MS);
    using _permit = await waiting;

    const until = '2026-01-02T03:04:10.000Z';
    expect(during).toEqual([{ breakerKey: 'a', until, reason: '429 too many requests' }]);
    expect(governor.laneWaits).toEqual([]);
  });

  it.each([-3_600_000, 3_600_000])(
    'is held as long when the wall clock is set by %i ms meanwhile',
    async (changeMs) => {
      const clock = new FakeClock();
      const governor = openProcess(clock);
      await hold(governor, 7_000);
      const waiting = takePermit(governor, 'a');

      clock.setWallClock(clock.now() + changeMs);
      await pass(clock, 6_999);
      const isEarly = await settledBy(waiting);
      await pass(clock, SLACK_MS);

      expect([isEarly, await settledBy(waiting)]).toEqual([false, true]);
    },
  );

  it('is called again after its hold, whether timers fire early or late, or time passes between two readings', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.integer({ min: -4, max: 8 })),
        fc.infiniteStream(fc.integer({ min: 0, max: 1 })),
        fc.integer({ min: 1, max: 400 }),
        async (drifts, ticks, holdMs) => {
          const clock = new TickingClock(
            () => drifts.next().value ?? 0,
            () => ticks.next().value ?? 0,
          );
          const governor = openProcess(clock);
          await hold(governor, holdMs);
          const waiting = takePermit(governor, 'a');

          await pass(clock, holdMs + SLACK_MS);

          expect(await settledBy(waiting)).toBe(true);
        },
      ),
      { numRuns: 60, seed: 3 },
    );
  });
});
