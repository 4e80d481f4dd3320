import { SlotGovernor } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { answered, type HeldPermit, refused, takePermit } from '../../support/permits.ts';
import { RoughClock } from '../../support/rough-clock.ts';
import { settledBy } from '../../support/settled-by.ts';

function governorOf(
  total: number,
  perLane: Readonly<Record<string, number>>,
  clock = new FakeClock(),
): SlotGovernor {
  return new SlotGovernor({
    clock,
    total,
    perLane: new Map(Object.entries(perLane)),
    random: () => 0,
  });
}

type Step =
  | { readonly kind: 'grant'; readonly lane: string }
  | { readonly kind: 'dispose' | 'abort'; readonly index: number };

const stepsArbitrary = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('a', 'b', 'c').map((lane) => ({ kind: 'grant' as const, lane })),
    },
    { weight: 2, arbitrary: fc.nat().map((index) => ({ kind: 'dispose' as const, index })) },
    { weight: 1, arbitrary: fc.nat().map((index) => ({ kind: 'abort' as const, index })) },
  ),
  { maxLength: 60 },
);

/** Follows who holds and who waits while a governor is put through its paces. */
class Crowd {
  readonly held: { readonly lane: string; readonly slot: HeldPermit }[] = [];
  readonly waiting = new Set<{ readonly lane: string; readonly controller: AbortController }>();
  readonly #governor: SlotGovernor;

  constructor(governor: SlotGovernor) {
    this.#governor = governor;
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'grant') this.#ask(step.lane);
    else if (step.kind === 'dispose') {
      const [given] = this.held.splice(step.index % Math.max(1, this.held.length), 1);
      given?.slot[Symbol.dispose]();
    } else {
      const waiting = [...this.waiting];
      waiting[step.index % Math.max(1, waiting.length)]?.controller.abort();
    }
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }

  countHeld(lane: string): number {
    return this.held.filter((each) => each.lane === lane).length;
  }

  isWaitedFor(lane: string): boolean {
    return [...this.waiting].some((waiter) => waiter.lane === lane);
  }

  #ask(lane: string): void {
    const controller = new AbortController();
    const waiter = { lane, controller };
    this.waiting.add(waiter);
    takePermit(this.#governor, lane, controller.signal)
      .then(
        (slot) => this.held.push({ lane, slot }),
        () => undefined,
      )
      .finally(() => this.waiting.delete(waiter))
      .catch(() => undefined);
  }
}

describe('SlotGovernor', () => {
  it('grants never more than the limits allow and leaves no slot idle that is waited for', async () => {
    const limit = fc.integer({ min: 1, max: 4 });

    await fc.assert(
      fc.asyncProperty(
        stepsArbitrary,
        fc.integer({ min: 1, max: 6 }),
        fc.tuple(limit, limit, limit),
        async (steps, total, [a, b, c]) => {
          const perLane = { a, b, c };
          const crowd = new Crowd(governorOf(total, perLane));
          for (const step of steps) {
            await crowd.take(step);

            const lanes = Object.entries(perLane);
            const overfull = lanes.filter(([lane, most]) => crowd.countHeld(lane) > most);
            const idle = lanes.filter(
              ([lane, most]) =>
                crowd.isWaitedFor(lane) &&
                crowd.countHeld(lane) < most &&
                crowd.held.length < total,
            );
            expect({ overfull, idle }).toEqual({ overfull: [], idle: [] });
            expect(crowd.held.length).toBeLessThanOrEqual(total);
          }
        },
      ),
      { numRuns: 60, seed: 5 },
    );
  });

  it('never stands still when a hold is over, whether timers fire early or late', async () => {
    const lateMs = 8;
    const steps = fc.array(
      fc.oneof(
        { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const) }) },
        { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer' as const) }) },
        {
          weight: 3,
          arbitrary: fc.record({
            kind: fc.constant('refuse' as const),
            retryAfterMs: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
          }),
        },
        {
          weight: 6,
          arbitrary: fc.record({
            kind: fc.constant('pass' as const),
            ms: fc.integer({ min: 1, max: 40 }),
          }),
        },
      ),
      { maxLength: 80 },
    );
    const drifts = fc.infiniteStream(fc.integer({ min: -4, max: lateMs }));

    await fc.assert(
      fc.asyncProperty(steps, drifts, fc.integer({ min: 1, max: 4 }), async (all, drift, slots) => {
        const clock = new RoughClock(() => drift.next().value ?? 0);
        const governor = governorOf(slots, { a: slots }, clock);
        const crowd = new Crowd(governor);
        let openForMs = 0;
        for (let asked = 0; asked < 12; asked += 1) await crowd.take({ kind: 'grant', lane: 'a' });
        // A last long while without news: whoever waits for the end of a hold must have been served.
        for (const step of [
          ...all,
          ...Array.from({ length: 20 }, () => ({ kind: 'pass', ms: 5 }) as const),
        ]) {
          if (step.kind === 'ask') await crowd.take({ kind: 'grant', lane: 'a' });
          else if (step.kind === 'pass') {
            for (let ms = 0; ms < step.ms; ms += 1) {
              openForMs = governor.isHeld('a') ? 0 : openForMs + 1;
              clock.advance(1);
              await settledBy(Promise.resolve());
              const isStill =
                openForMs > lateMs && crowd.isWaitedFor('a') && crowd.countHeld('a') === 0;
              expect(isStill).toBe(false);
            }
          } else if (crowd.held.length > 0) {
            const [first] = crowd.held.splice(0, 1);
            await first?.slot.settle(
              step.kind === 'answer' ? answered : refused(step.retryAfterMs),
            );
          }
        }
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  it('serves one lane first come, first served', async () => {
    const governor = governorOf(1, { a: 1 });
    const first = await takePermit(governor, 'a');
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      using _slot = await takePermit(governor, 'a');
      order.push(number);
    });

    first[Symbol.dispose]();
    await Promise.all(waiting);

    expect(order).toEqual([1, 2, 3]);
  });

  it('gives a free slot to the waiting lane that uses fewest', async () => {
    const governor = governorOf(4, { slow: 4, fast: 4 });
    const slots = await Promise.all(
      ['slow', 'slow', 'slow', 'fast'].map((lane) => takePermit(governor, lane)),
    );
    const slow = takePermit(governor, 'slow');
    const fast = takePermit(governor, 'fast');

    slots[0]?.[Symbol.dispose]();

    // slow holds 2, fast holds 1.
    using _granted = await fast;
    expect(await settledBy(slow)).toBe(false);
  });

  it('shares the slots evenly between a crowd and a few latecomers', async () => {
    const governor = governorOf(4, { slow: 4, fast: 4 });
    const held: { readonly lane: string; readonly slot: HeldPermit }[] = [];
    const ask = (lane: string) => {
      takePermit(governor, lane).then(
        (slot) => held.push({ lane, slot }),
        () => undefined,
      );
    };
    for (let index = 0; index < 100; index += 1) ask('slow');
    for (let index = 0; index < 100; index += 1) ask('fast');
    const grantedCounts = { slow: 0, fast: 0 };

    for (let index = 0; index < 40; index += 1) {
      await settledBy(Promise.resolve());
      const next = held.shift();
      if (next?.lane === 'slow' || next?.lane === 'fast') grantedCounts[next.lane] += 1;
      next?.slot[Symbol.dispose]();
    }

    // The slow lane was there first, with all four slots; from then on they alternate.
    expect(grantedCounts).toEqual({ slow: 22, fast: 18 });
  });

  it('passes over a waiter that has given up', async () => {
    const governor = governorOf(1, { a: 1 });
    const controller = new AbortController();
    const first = await takePermit(governor, 'a');
    const quitter = takePermit(governor, 'a', controller.signal);
    const patient = takePermit(governor, 'a');
    controller.abort();
    await expect(quitter).rejects.toMatchObject({ code: 'interrupted' });

    first[Symbol.dispose]();

    using granted = await patient;
    expect(granted.waitMs).toBe(0);
  });

  it('has no slots for a lane it was not told of', async () => {
    const governor = governorOf(1, { a: 1 });

    await expect(takePermit(governor, 'b')).rejects.toMatchObject({
      code: 'invariant-violated',
      message: 'no slots for lane "b"',
    });
  });

  it('turns away who waits once it is closed, and leaves slots to their holders', async () => {
    const governor = governorOf(1, { a: 1 });
    const interrupted = { code: 'interrupted' };
    using _held = await takePermit(governor, 'a');
    const waiting = takePermit(governor, 'a');

    governor.close();

    await expect(waiting).rejects.toMatchObject(interrupted);
    await expect(takePermit(governor, 'a')).rejects.toMatchObject(interrupted);
  });
});

describe('a closed SlotGovernor', () => {
  it('turns away who waits and who comes, and lets the holders finish', async () => {
    const governor = governorOf(1, { a: 1 });
    const held = await takePermit(governor, 'a');
    const waiting = takePermit(governor, 'a');

    governor.close();
    held[Symbol.dispose]();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    await expect(takePermit(governor, 'a')).rejects.toMatchObject({ code: 'interrupted' });
  });
});

/** Takes a permit and has the vendor refuse its call; returns how long the cell should wait. */
async function refuse(governor: SlotGovernor, retryAfterMs?: number): Promise<number> {
  const permit = await takePermit(governor, 'a');
  return await permit.settle(refused(retryAfterMs));
}

describe('a lane whose calls are refused', () => {
  it('is granted nothing until the wait the vendor asked for is over; other lanes are', async () => {
    const clock = new FakeClock();
    const governor = governorOf(2, { a: 1, b: 1 }, clock);

    await refuse(governor, 7_000);
    const delayMs = await refuse(governor, 7_000);
    const waiting = takePermit(governor, 'a');
    using _other = await takePermit(governor, 'b');
    const isEarly = await settledBy(waiting);
    clock.advance(7_000);
    using permit = await waiting;

    expect(delayMs).toBe(7_000);
    expect(isEarly).toBe(false);
    expect(permit.waitMs).toBe(7_000);
  });

  it('is held for months without a timer that overflows', async () => {
    const clock = new FakeClock();
    const governor = governorOf(1, { a: 1 }, clock);
    const monthMs = 30 * 86_400_000;
    await refuse(governor, monthMs);
    await refuse(governor, monthMs);
    const waiting = takePermit(governor, 'a');
    const firstSleepMs = clock.nextDueInMs;

    clock.advance(monthMs - 1_000);
    const isEarly = await settledBy(waiting);
    const lastSleepMs = clock.nextDueInMs;
    clock.advance(1_000);
    using permit = await waiting;

    expect(isEarly).toBe(false);
    expect(permit.waitMs).toBe(monthMs);
    expect([firstSleepMs, lastSleepMs]).toEqual([60_000, 1_000]);
  });

  it.each([-3_600_000, 3_600_000])(
    'is held as long when the wall clock is set by %i ms meanwhile',
    async (changeMs) => {
      const clock = new FakeClock();
      const governor = governorOf(1, { a: 1 }, clock);
      await refuse(governor, 7_000);
      await refuse(governor, 7_000);
      const waiting = takePermit(governor, 'a');

      clock.setWallClock(clock.now() + changeMs);
      clock.advance(6_999);
      const isEarly = await settledBy(waiting);
      clock.advance(1);
      const isOnTime = await settledBy(waiting);
      governor.close();
      const permit = await waiting.catch(() => undefined);

      expect({ isEarly, isOnTime }).toEqual({ isEarly: false, isOnTime: true });
      expect(permit?.waitMs).toBe(7_000);
    },
  );

  it('is held longer each time the vendor refuses again without saying for how long', async () => {
    const clock = new FakeClock();
    const governor = governorOf(1, { a: 1 }, clock);
    const holds: number[] = [];
    await refuse(governor);

    for (let refusal = 0; refusal < 4; refusal += 1) {
      const delayMs = await refuse(governor);
      holds.push(delayMs);
      clock.advance(delayMs);
    }

    expect(holds).toEqual([250, 500, 1_000, 2_000]);
  });

  it('counts refusals of calls that were in flight together as one', async () => {
    const governor = governorOf(4, { a: 4 });
    const permits = [
      await takePermit(governor, 'a'),
      await takePermit(governor, 'a'),
      await takePermit(governor, 'a'),
    ];

    const delays = await Promise.all(permits.map((permit) => permit.settle(refused())));

    expect(delays).toEqual([250, 250, 250]);
  });

  it('is not held for a single refusal between answers', async () => {
    const governor = governorOf(2, { a: 2 });
    const delays: number[] = [];

    for (let round = 0; round < 3; round += 1) {
      delays.push(await refuse(governor, 9_000));
      await (await takePermit(governor, 'a')).settle(answered);
    }

    expect(delays).toEqual([9_000, 9_000, 9_000]);
    expect(governor.isHeld('a')).toBe(false);
  });

  it('gets its pace back with its answers: the next hold is a short one', async () => {
    const clock = new FakeClock();
    const governor = governorOf(1, { a: 1 }, clock);
    for (let refusal = 0; refusal < 6; refusal += 1) clock.advance(await refuse(governor));

    await (await takePermit(governor, 'a')).settle(answered);
    await refuse(governor);

    expect(await refuse(governor)).toBe(250);
  });

  it('has half of its slots after a hold, and one more with each answer', async () => {
    const clock = new FakeClock();
    const governor = governorOf(8, { a: 8 }, clock);
    const first: HeldPermit[] = [];
    for (let asked = 0; asked < 8; asked += 1) first.push(await takePermit(governor, 'a'));
    for (const permit of first) await permit.settle(refused(1_000));
    const granted: HeldPermit[] = [];
    for (let asked = 0; asked < 12; asked += 1) {
      void takePermit(governor, 'a').then((permit) => granted.push(permit));
    }
    const counts: number[] = [];
    const count = async () => {
      await settledBy(Promise.resolve());
      counts.push(granted.length);
    };

    await count();
    clock.advance(1_000);
    await count();
    // Each answer returns its slot and adds one.
    await granted[0]?.settle(answered);
    await granted[1]?.settle(answered);
    await count();

    expect(counts).toEqual([0, 4, 8]);
  });
});
