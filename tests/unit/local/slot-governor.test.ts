import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotGovernor } from '../../../packages/local/src/work/slot-governor.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { answered, type HeldPermit, refused, takePermit } from '../../support/permits.ts';
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

type CallerStep =
  | { readonly kind: 'grant'; readonly lane: string }
  | { readonly kind: 'dispose' | 'abort'; readonly index: number };

const grantArbitrary = fc
  .constantFrom('a', 'b', 'c')
  .map((lane) => ({ kind: 'grant' as const, lane }));

const callerStepsArbitrary = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: grantArbitrary },
    { weight: 2, arbitrary: fc.nat().map((index) => ({ kind: 'dispose' as const, index })) },
    { weight: 1, arbitrary: fc.nat().map((index) => ({ kind: 'abort' as const, index })) },
  ),
  { maxLength: 60, size: 'max' },
);

/** Callers of a governor; tracks which of them hold a permit and which wait. */
class Callers {
  readonly held: { readonly lane: string; readonly permit: HeldPermit }[] = [];
  readonly waiting = new Set<{ readonly lane: string; readonly controller: AbortController }>();
  readonly #governor: SlotGovernor;

  constructor(governor: SlotGovernor) {
    this.#governor = governor;
  }

  async perform(step: CallerStep): Promise<void> {
    if (step.kind === 'grant') this.request(step.lane);
    else if (step.kind === 'dispose') this.remove(step.index)?.permit[Symbol.dispose]();
    else {
      const waiting = [...this.waiting];
      waiting[step.index % Math.max(1, waiting.length)]?.controller.abort();
    }
    await settledBy(Promise.resolve());
  }

  request(lane: string): void {
    const controller = new AbortController();
    const waiter = { lane, controller };
    this.waiting.add(waiter);
    takePermit(this.#governor, lane, controller.signal)
      .then(
        (permit) => this.held.push({ lane, permit }),
        () => undefined,
      )
      .finally(() => this.waiting.delete(waiter))
      .catch(() => undefined);
  }

  /** Removes a held permit without settling it; undefined if no caller holds one. */
  remove(index: number): { readonly lane: string; readonly permit: HeldPermit } | undefined {
    const [removed] = this.held.splice(index % Math.max(1, this.held.length), 1);
    return removed;
  }

  countHeld(lane: string): number {
    return this.held.filter((each) => each.lane === lane).length;
  }

  isWaitedFor(lane: string): boolean {
    return [...this.waiting].some((waiter) => waiter.lane === lane);
  }
}

describe('SlotGovernor', () => {
  it('never grants more than the limits allow and leaves no slot idle while a caller waits for it', async () => {
    const limit = fc.integer({ min: 1, max: 4 });

    await fc.assert(
      fc.asyncProperty(
        callerStepsArbitrary,
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

  it.each(['answered', 'refused', 'failed'] as const)(
    'grants nothing while it is paused, not even the slot of a call that %s',
    async (kind) => {
      const governor = governorOf(2, { a: 2 });
      const held = await takePermit(governor, 'a');
      await takePermit(governor, 'a');
      const waiting = takePermit(governor, 'a');

      governor.pause();
      const later = takePermit(governor, 'a');
      const ends = { answered, refused: refused(0), failed: { kind: 'failed' } } as const;
      await held.settle(ends[kind]);
      const early = [await settledBy(waiting), await settledBy(later)];
      const { inUseCount, isStalled } = governor;
      governor.resume();

      expect(early).toEqual([false, false]);
      expect({ inUseCount, isStalled }).toEqual({ inUseCount: 1, isStalled: false });
      expect(await settledBy(waiting)).toBe(true);
    },
  );

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

  it('gives a free slot to the waiting lane that uses the fewest', async () => {
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

  it('shares the slots evenly between lanes whose callers came first and later', async () => {
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

  it('skips a caller that stopped waiting', async () => {
    const governor = governorOf(1, { a: 1 });
    const controller = new AbortController();
    const first = await takePermit(governor, 'a');
    const aborted = takePermit(governor, 'a', controller.signal);
    const patient = takePermit(governor, 'a');
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'interrupted' });

    first[Symbol.dispose]();

    using granted = await patient;
    expect(granted.waitMs).toBe(0);
  });

  it('throws for a lane that it does not know', async () => {
    const governor = governorOf(1, { a: 1 });

    await expect(takePermit(governor, 'b')).rejects.toMatchObject({
      code: 'invariant-violated',
      message: 'no slots for lane "b"',
    });
  });
});

/** A governor with a bug: it never serves a waiting caller. */
class ForgetfulGovernor extends SlotGovernor {
  protected override grantWaiting(): void {
    // Forgets the waiters.
  }
}

/** Opens a governor with a bug and two slots; `a` may use both, `b` one. */
function forgetfulGovernor(clock = new FakeClock()): SlotGovernor {
  const perLane = new Map([
    ['a', 2],
    ['b', 1],
  ]);
  return new ForgetfulGovernor({ clock, total: 2, perLane, random: () => 0 });
}

/** Waits for a permit until the test ends. */
function waitOn(governor: SlotGovernor, lane: string): void {
  takePermit(governor, lane).catch(() => undefined);
}

describe('a SlotGovernor is stalled', () => {
  it('when a caller waits although its lane has a free slot', async () => {
    const governor = forgetfulGovernor();
    const first = await takePermit(governor, 'b');
    waitOn(governor, 'b');

    first[Symbol.dispose]();

    expect(governor.isStalled).toBe(true);
  });

  it('also while other permits are in use', async () => {
    const governor = forgetfulGovernor();
    const first = await takePermit(governor, 'b');
    using _held = await takePermit(governor, 'a');
    waitOn(governor, 'b');

    first[Symbol.dispose]();

    expect(governor.isStalled).toBe(true);
  });

  it('not without a waiting caller', async () => {
    const governor = forgetfulGovernor();

    (await takePermit(governor, 'a'))[Symbol.dispose]();

    expect(governor.isStalled).toBe(false);
  });

  it('not while the lane uses all its slots', async () => {
    const governor = forgetfulGovernor();
    using _held = await takePermit(governor, 'b');

    waitOn(governor, 'b');

    expect(governor.isStalled).toBe(false);
  });

  it('not while other lanes use all slots', async () => {
    const governor = forgetfulGovernor();
    using _first = await takePermit(governor, 'a');
    using _second = await takePermit(governor, 'a');

    waitOn(governor, 'b');

    expect(governor.isStalled).toBe(false);
  });

  it('not when it works', async () => {
    const governor = governorOf(1, { a: 1 });
    const first = await takePermit(governor, 'a');
    const second = takePermit(governor, 'a');

    first[Symbol.dispose]();
    using _granted = await second;

    expect(governor.isStalled).toBe(false);
  });
});

describe('a closed SlotGovernor', () => {
  it('rejects current and new waiters after close, and lets granted calls finish', async () => {
    const governor = governorOf(1, { a: 1 });
    const held = await takePermit(governor, 'a');
    const waiting = takePermit(governor, 'a');

    governor.close();
    held[Symbol.dispose]();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    await expect(takePermit(governor, 'a')).rejects.toMatchObject({ code: 'interrupted' });
  });
});

describe('a lane whose calls are refused', () => {
  it('says until when it waits and why, also for a single refusal, until an answer arrives', async () => {
    const clock = new FakeClock();
    const governor = governorOf(2, { a: 2, b: 1 }, clock);
    const refuseWith = async (retryAfterMs: number, reason: string) => {
      const permit = await takePermit(governor, 'a');
      await permit.settle(refused(retryAfterMs, reason));
    };

    const before = governor.laneWaits;
    await refuseWith(5_000, '429 slow down');
    const afterOne = governor.laneWaits;
    await refuseWith(60_000, '429 tokens per minute');
    const afterMore = governor.laneWaits;
    clock.advance(60_000);
    const afterTheWait = governor.laneWaits;

    expect(before).toEqual([]);
    expect(afterOne).toEqual([
      { breakerKey: 'a', until: '2026-01-02T03:04:10.000Z', reason: '429 slow down' },
    ]);
    expect(afterMore).toEqual([
      { breakerKey: 'a', until: '2026-01-02T03:05:05.000Z', reason: '429 tokens per minute' },
    ]);
    expect(afterTheWait).toEqual([]);
  });

  it('does not wait while it makes calls or once one is answered', async () => {
    const governor = governorOf(2, { a: 2 });
    const answers = await takePermit(governor, 'a');

    await (await takePermit(governor, 'a')).settle(refused(5_000));
    const whileCalling = governor.laneWaits;
    await answers.settle(answered);
    const afterAnAnswer = governor.laneWaits;

    expect([whileCalling, afterAnAnswer]).toEqual([[], []]);
  });

  it('should be blocked after five minutes of refusals, and after five more if it is called again', async () => {
    const clock = new FakeClock();
    const governor = governorOf(2, { a: 2, b: 1 }, clock);
    const refuseAfter = async (ms: number) => {
      clock.advance(ms);
      const permit = await takePermit(governor, 'a');
      return (await permit.settle(refused(0))).hasOnlyRefused;
    };

    const atFirst = await refuseAfter(0);
    const almost = await refuseAfter(299_999);
    const then = await refuseAfter(1);
    const again = await refuseAfter(299_999);
    await (await takePermit(governor, 'a')).settle(answered);
    const afterAnAnswer = await refuseAfter(300_000);

    expect([atFirst, almost, then, again, afterAnAnswer]).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
  });
});
