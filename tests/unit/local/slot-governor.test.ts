import type { Slot } from '@thrice/core';
import { SlotGovernor } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { RoughClock } from '../../support/rough-clock.ts';
import { settledBy } from '../../support/settled-by.ts';

const never = new AbortController().signal;

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

/** Tracks holders and waiters while a test exercises a governor. */
class Callers {
  readonly held: { readonly lane: string; readonly slot: Slot }[] = [];
  readonly waiting = new Set<{ readonly lane: string; readonly controller: AbortController }>();
  readonly #governor: SlotGovernor;

  constructor(governor: SlotGovernor) {
    this.#governor = governor;
  }

  async perform(step: Step): Promise<void> {
    if (step.kind === 'grant') this.#request(step.lane);
    else if (step.kind === 'dispose') {
      const [holder] = this.held.splice(step.index % Math.max(1, this.held.length), 1);
      holder?.slot[Symbol.dispose]();
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

  #request(lane: string): void {
    const controller = new AbortController();
    const waiter = { lane, controller };
    this.waiting.add(waiter);
    this.#governor
      .grant(lane, controller.signal)
      .then(
        (slot) => this.held.push({ lane, slot }),
        () => undefined,
      )
      .finally(() => this.waiting.delete(waiter))
      .catch(() => undefined);
  }
}

describe('SlotGovernor', () => {
  it('never exceeds the limits and never leaves a slot idle while a caller waits for it', async () => {
    const limit = fc.integer({ min: 1, max: 4 });

    await fc.assert(
      fc.asyncProperty(
        stepsArbitrary,
        fc.integer({ min: 1, max: 6 }),
        fc.tuple(limit, limit, limit),
        async (steps, total, [a, b, c]) => {
          const perLane = { a, b, c };
          const callers = new Callers(governorOf(total, perLane));
          for (const step of steps) {
            await callers.perform(step);

            const lanes = Object.entries(perLane);
            const overfull = lanes.filter(([lane, most]) => callers.countHeld(lane) > most);
            const idle = lanes.filter(
              ([lane, most]) =>
                callers.isWaitedFor(lane) &&
                callers.countHeld(lane) < most &&
                callers.held.length < total,
            );
            expect({ overfull, idle }).toEqual({ overfull: [], idle: [] });
            expect(callers.held.length).toBeLessThanOrEqual(total);
          }
        },
      ),
      { numRuns: 60, seed: 5 },
    );
  });

  it('always resumes when a hold ends, whether timers fire early or late', async () => {
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
        const callers = new Callers(governor);
        let openForMs = 0;
        for (let index = 0; index < 12; index += 1)
          await callers.perform({ kind: 'grant', lane: 'a' });
        // After a long time without events, everyone waiting for the end of a hold must have been served.
        for (const step of [
          ...all,
          ...Array.from({ length: 20 }, () => ({ kind: 'pass', ms: 5 }) as const),
        ]) {
          if (step.kind === 'ask') await callers.perform({ kind: 'grant', lane: 'a' });
          else if (step.kind === 'pass') {
            for (let ms = 0; ms < step.ms; ms += 1) {
              openForMs = governor.isHeld('a') ? 0 : openForMs + 1;
              clock.advance(1);
              await settledBy(Promise.resolve());
              const isStuck =
                openForMs > lateMs && callers.isWaitedFor('a') && callers.countHeld('a') === 0;
              expect(isStuck).toBe(false);
            }
          } else if (callers.held.length > 0) {
            if (step.kind === 'answer') governor.answered('a');
            else governor.slowDown('a', step.retryAfterMs);
            await callers.perform({ kind: 'dispose', index: 0 });
          }
        }
      }),
      { numRuns: 40, seed: 7 },
    );
  });

  it('serves one lane first come, first served', async () => {
    const governor = governorOf(1, { a: 1 });
    const first = await governor.grant('a', never);
    const order: number[] = [];
    const waiting = [1, 2, 3].map(async (number) => {
      using _slot = await governor.grant('a', never);
      order.push(number);
    });

    first[Symbol.dispose]();
    await Promise.all(waiting);

    expect(order).toEqual([1, 2, 3]);
  });

  it('gives a free slot to the waiting lane that uses the fewest', async () => {
    const governor = governorOf(4, { slow: 4, fast: 4 });
    const slots = await Promise.all(
      ['slow', 'slow', 'slow', 'fast'].map((lane) => governor.grant(lane, never)),
    );
    const slow = governor.grant('slow', never);
    const fast = governor.grant('fast', never);

    slots[0]?.[Symbol.dispose]();

    // slow holds 2, fast holds 1.
    using _granted = await fast;
    expect(await settledBy(slow)).toBe(false);
  });

  it('shares the slots evenly between many early and a few late callers', async () => {
    const governor = governorOf(4, { slow: 4, fast: 4 });
    const held: { readonly lane: string; readonly slot: Slot }[] = [];
    const ask = (lane: string) => {
      governor.grant(lane, never).then(
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

    // The slow lane came first and took all four slots; from then on the lanes alternate.
    expect(grantedCounts).toEqual({ slow: 22, fast: 18 });
  });

  it('skips a waiter that was aborted', async () => {
    const governor = governorOf(1, { a: 1 });
    const controller = new AbortController();
    const first = await governor.grant('a', never);
    const quitter = governor.grant('a', controller.signal);
    const patient = governor.grant('a', never);
    controller.abort();
    await expect(quitter).rejects.toMatchObject({ code: 'interrupted' });

    first[Symbol.dispose]();

    using granted = await patient;
    expect(granted.waitMs).toBe(0);
  });

  it('has no slots for an unknown lane', async () => {
    const governor = governorOf(1, { a: 1 });

    await expect(governor.grant('b', never)).rejects.toMatchObject({
      code: 'invariant-violated',
      message: 'no slots for lane "b"',
    });
  });

  it('rejects waiters once it is closed, and leaves slots with their holders', async () => {
    const governor = governorOf(1, { a: 1 });
    const interrupted = { code: 'interrupted' };
    using _held = await governor.grant('a', never);
    const waiting = governor.grant('a', never);

    governor.close();

    await expect(waiting).rejects.toMatchObject(interrupted);
    await expect(governor.grant('a', never)).rejects.toMatchObject(interrupted);
  });
});

describe('a closed SlotGovernor', () => {
  it('rejects waiting and new callers, and lets the holders finish', async () => {
    const governor = governorOf(1, { a: 1 });
    const held = await governor.grant('a', never);
    const waiting = governor.grant('a', never);

    governor.close();
    held[Symbol.dispose]();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    await expect(governor.grant('a', never)).rejects.toMatchObject({ code: 'interrupted' });
  });
});

describe('a lane that was slowed down', () => {
  it("is granted nothing until the vendor's wait is over, while other lanes are", async () => {
    const clock = new FakeClock();
    const governor = governorOf(2, { a: 1, b: 1 }, clock);

    governor.slowDown('a', 7_000);
    const delayMs = governor.slowDown('a', 7_000);
    const waiting = governor.grant('a', never);
    const other = await governor.grant('b', never);
    const isEarly = await settledBy(waiting);
    clock.advance(7_000);
    const slot = await waiting;

    expect(delayMs).toBe(7_000);
    expect(isEarly).toBe(false);
    expect(slot.waitMs).toBe(7_000);
    other[Symbol.dispose]();
    slot[Symbol.dispose]();
  });

  it('is held longer after each further refusal without a retry time', () => {
    const clock = new FakeClock();
    const governor = governorOf(1, { a: 1 }, clock);
    const holds: number[] = [];
    governor.slowDown('a', undefined);

    for (let refusal = 0; refusal < 4; refusal += 1) {
      const delayMs = governor.slowDown('a', undefined);
      holds.push(delayMs);
      clock.advance(delayMs);
    }

    expect(holds).toEqual([250, 500, 1_000, 2_000]);
  });

  it('counts refusals of concurrent calls as one', () => {
    const governor = governorOf(4, { a: 4 });

    const delays = [1, 2, 3].map(() => governor.slowDown('a', undefined));

    expect(delays).toEqual([250, 250, 250]);
  });

  it('is not held for a single refusal among answers', async () => {
    const governor = governorOf(2, { a: 2 });

    const delays = [1, 2, 3].map(() => {
      const delayMs = governor.slowDown('a', 9_000);
      governor.answered('a');
      return delayMs;
    });
    const slot = await governor.grant('a', never);

    expect(delays).toEqual([9_000, 9_000, 9_000]);
    slot[Symbol.dispose]();
  });

  it('recovers with its answers: the next hold is short again', () => {
    const clock = new FakeClock();
    const governor = governorOf(1, { a: 1 }, clock);
    for (let refusal = 0; refusal < 6; refusal += 1) {
      clock.advance(governor.slowDown('a', undefined));
    }

    governor.answered('a');
    governor.slowDown('a', undefined);

    expect(governor.slowDown('a', undefined)).toBe(250);
  });

  it('gets half of its slots after a hold, and one more with each answer', async () => {
    const clock = new FakeClock();
    const governor = governorOf(8, { a: 8 }, clock);
    const granted: Slot[] = [];
    for (let index = 0; index < 8; index += 1) {
      void governor.grant('a', never).then((slot) => granted.push(slot));
    }
    governor.slowDown('a', 1_000);
    governor.slowDown('a', 1_000);
    await settledBy(Promise.resolve());
    for (const slot of granted.splice(0)) slot[Symbol.dispose]();
    for (let index = 0; index < 8; index += 1) {
      void governor.grant('a', never).then((slot) => granted.push(slot));
    }

    const counts: number[] = [];
    await settledBy(Promise.resolve());
    counts.push(granted.length);
    clock.advance(1_000);
    await settledBy(Promise.resolve());
    counts.push(granted.length);
    governor.answered('a');
    governor.answered('a');
    await settledBy(Promise.resolve());
    counts.push(granted.length);

    expect(counts).toEqual([0, 4, 6]);
  });
});
