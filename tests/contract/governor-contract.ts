import type { Governor, ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { answered, refused, takePermit } from '../support/permits.ts';
import { settledBy } from '../support/settled-by.ts';

/** Opens a governor with the given number of slots on each of the lanes `lab` and `openai`. */
export type OpenGovernor = (clock: FakeClock, slotsPerLane: number) => Governor;

const interrupted = { code: 'interrupted' } satisfies Partial<ThriceError>;

/** Tests every promise of the `Governor` port. */
export function describeGovernorContract(name: string, openGovernor: OpenGovernor): void {
  describe(`Governor contract: ${name}`, () => {
    it('grants a permit without a wait on an idle lane', async () => {
      const governor = openGovernor(new FakeClock(), 1);

      using permit = await takePermit(governor, 'lab');

      expect(permit.waitMs).toBe(0);
    });

    it('throws immediately when the signal is already aborted', async () => {
      const governor = openGovernor(new FakeClock(), 1);

      await expect(takePermit(governor, 'lab', AbortSignal.abort())).rejects.toMatchObject(
        interrupted,
      );

      using granted = await takePermit(governor, 'lab');
      expect(granted.waitMs).toBe(0);
    });

    it('makes a refused cell wait as long as the vendor asks', async () => {
      const permit = await takePermit(openGovernor(new FakeClock(), 1), 'lab');

      expect(await permit.settle(refused(2_500))).toMatchObject({ delayMs: 2_500 });
    });

    it('makes a refused cell wait when the vendor does not say how long', async () => {
      const permit = await takePermit(openGovernor(new FakeClock(), 1), 'lab');

      expect((await permit.settle(refused())).delayMs).toBeGreaterThan(0);
    });

    it.each([answered, { kind: 'failed' } as const])(
      'does not delay a cell whose call ends as $kind',
      async (end) => {
        const permit = await takePermit(openGovernor(new FakeClock(), 1), 'lab');

        expect(await permit.settle(end)).toEqual({ delayMs: 0, hasOnlyRefused: false });
      },
    );

    it('says that the lane should be blocked once it has refused all calls for five minutes', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock, 1);
      const takeNext = async () => {
        const waiting = takePermit(governor, 'lab');
        await new Promise(setImmediate);
        clock.advance(clock.nextDueInMs ?? 0);
        return await waiting;
      };
      const refuseAfter = async (ms: number) => {
        clock.advance(ms);
        return (await (await takeNext()).settle(refused(0))).hasOnlyRefused;
      };

      const first = [await refuseAfter(0), await refuseAfter(200_000), await refuseAfter(90_000)];
      await (await takeNext()).settle(answered);
      // The first of them may be chance.
      const afterAnswer = [await refuseAfter(200_000)];
      for (let no = 0; no < 10; no += 1) afterAnswer.push(await refuseAfter(2_000));
      const later = await refuseAfter(200_000);
      const atLast = await refuseAfter(150_000);

      expect(first).toEqual([false, false, false]);
      expect([...new Set(afterAnswer), later, atLast]).toEqual([false, false, true]);
    });
  });
}

/** Tests the promises of a governor that limits the calls in flight. */
export function describeSlotsContract(name: string, openGovernor: OpenGovernor): void {
  describe(`Slots contract: ${name}`, () => {
    it('makes callers wait while the lane is full', async () => {
      const governor = openGovernor(new FakeClock(), 2);
      using _first = await takePermit(governor, 'lab');
      const second = await takePermit(governor, 'lab');

      const third = takePermit(governor, 'lab');

      expect(await settledBy(third)).toBe(false);
      second[Symbol.dispose]();
      using granted = await third;
      expect(granted.waitMs).toBe(0);
    });

    it('reports how long the caller waited', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock, 1);
      const first = await takePermit(governor, 'lab');
      const second = takePermit(governor, 'lab');
      clock.advance(1_500);

      first[Symbol.dispose]();

      using granted = await second;
      expect(granted.waitMs).toBe(1_500);
    });

    it('grants a slot on another lane while a lane is full', async () => {
      const governor = openGovernor(new FakeClock(), 1);
      using _full = await takePermit(governor, 'lab');

      using granted = await takePermit(governor, 'openai');

      expect(granted.waitMs).toBe(0);
    });

    it('returns a slot only once when it is disposed of twice', async () => {
      const governor = openGovernor(new FakeClock(), 1);
      const first = await takePermit(governor, 'lab');
      first[Symbol.dispose]();
      first[Symbol.dispose]();

      using _second = await takePermit(governor, 'lab');
      const third = takePermit(governor, 'lab');

      expect(await settledBy(third)).toBe(false);
    });

    it('stops waiting when the signal aborts, without holding a slot', async () => {
      const governor = openGovernor(new FakeClock(), 1);
      const controller = new AbortController();
      const first = await takePermit(governor, 'lab');
      const waiting = takePermit(governor, 'lab', controller.signal);

      controller.abort();

      await expect(waiting).rejects.toMatchObject(interrupted);
      first[Symbol.dispose]();
      using granted = await takePermit(governor, 'lab');
      expect(granted.waitMs).toBe(0);
    });

    it('keeps a slot when its signal aborts after the grant', async () => {
      const governor = openGovernor(new FakeClock(), 1);
      const controller = new AbortController();
      using _slot = await takePermit(governor, 'lab', controller.signal);

      controller.abort();

      expect(await settledBy(takePermit(governor, 'lab'))).toBe(false);
    });
  });
}
