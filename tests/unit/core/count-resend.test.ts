import { type ErrorCode, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { areResendsUsedUp, countResend } from '../../../packages/core/src/cells/count-resend.ts';
import type { Resends } from '../../../packages/core/src/domain/resends.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function resendsOf(clock: FakeClock, count: number, code: ErrorCode): Resends {
  return { count, since: clock.toIso(clock.now()), code };
}

describe('countResend', () => {
  it('counts causes of one class in a row, from the first time, with the last reason', () => {
    const clock = new FakeClock();
    const since = clock.toIso(clock.now());

    const first = countResend(undefined, 'model-rate-limited', clock);
    clock.advance(60_000);
    const second = countResend(first, 'model-rate-limited', clock);
    const third = countResend(second, 'interrupted', clock);

    expect(first).toEqual({ count: 1, since, code: 'model-rate-limited' });
    expect(second).toEqual({ count: 2, since, code: 'model-rate-limited' });
    expect(third).toEqual({ count: 1, since, code: 'interrupted' });
  });

  it('starts anew after progress', () => {
    const clock = new FakeClock();

    expect(countResend(resendsOf(clock, 50, 'interrupted'), undefined, clock)).toBeUndefined();
  });
});

describe('the bounds of resends', () => {
  it('allow a lane to refuse any number of times within a week', () => {
    const clock = new FakeClock();
    const resends = resendsOf(clock, 1_000_000, 'model-rate-limited');

    clock.advance(limits.resendsMs - 1);
    const before = areResendsUsedUp(resends, clock);
    clock.advance(1);

    expect([before, areResendsUsedUp(resends, clock)]).toEqual([false, true]);
  });

  it.each<ErrorCode>(['interrupted', 'connection-failed'])(
    'allow deliveries in a row that end before their call by %s a fixed number of times',
    (code) => {
      const clock = new FakeClock();
      const { resendsOfOneCause: most } = limits;

      expect(areResendsUsedUp(resendsOf(clock, most - 1, code), clock)).toBe(false);
      expect(areResendsUsedUp(resendsOf(clock, most, code), clock)).toBe(true);
    },
  );
});
