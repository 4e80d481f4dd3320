import type { Governor, ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { takePermit } from '../support/permits.ts';
import { settledBy } from '../support/settled-by.ts';

/** Opens a governor with the given number of slots on each of the lanes `lab` and `openai`. */
export type OpenGovernor = (clock: FakeClock, slotsPerLane: number) => Promise<Governor>;

/** Tests every promise of the `Governor` port. */
export function describeGovernorContract(name: string, openGovernor: OpenGovernor): void {
  describe(`Governor contract: ${name}`, () => {
    const interrupted = { code: 'interrupted' } satisfies Partial<ThriceError>;

    it('grants a free slot immediately', async () => {
      const governor = await openGovernor(new FakeClock(), 1);

      using slot = await takePermit(governor, 'lab');

      expect(slot.waitMs).toBe(0);
    });

    it('makes callers wait while the lane is full', async () => {
      const governor = await openGovernor(new FakeClock(), 2);
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
      const governor = await openGovernor(clock, 1);
      const first = await takePermit(governor, 'lab');
      const second = takePermit(governor, 'lab');
      clock.advance(1_500);

      first[Symbol.dispose]();

      using granted = await second;
      expect(granted.waitMs).toBe(1_500);
    });

    it('grants a slot on another lane while a lane is full', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
      using _full = await takePermit(governor, 'lab');

      using granted = await takePermit(governor, 'openai');

      expect(granted.waitMs).toBe(0);
    });

    it('returns a slot only once when it is disposed of twice', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
      const first = await takePermit(governor, 'lab');
      first[Symbol.dispose]();
      first[Symbol.dispose]();

      using _second = await takePermit(governor, 'lab');
      const third = takePermit(governor, 'lab');

      expect(await settledBy(third)).toBe(false);
    });

    it('throws immediately when the signal is already aborted', async () => {
      const governor = await openGovernor(new FakeClock(), 1);

      await expect(takePermit(governor, 'lab', AbortSignal.abort())).rejects.toMatchObject(
        interrupted,
      );

      using granted = await takePermit(governor, 'lab');
      expect(granted.waitMs).toBe(0);
    });

    it('stops waiting when the signal aborts, without holding a slot', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
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
      const governor = await openGovernor(new FakeClock(), 1);
      const controller = new AbortController();
      using _slot = await takePermit(governor, 'lab', controller.signal);

      controller.abort();

      expect(await settledBy(takePermit(governor, 'lab'))).toBe(false);
    });
  });
}
