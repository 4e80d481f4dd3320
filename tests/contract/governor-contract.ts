import type { Governor, ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { takePermit } from '../support/permits.ts';
import { settledBy } from '../support/settled-by.ts';

/** Makes a governor with so many slots on lane `lab` and as many on lane `openai`. */
export type OpenGovernor = (clock: FakeClock, slotsPerLane: number) => Promise<Governor>;

/** What the `Governor` port promises, sentence by sentence. */
export function describeGovernorContract(name: string, openGovernor: OpenGovernor): void {
  describe(`Governor contract: ${name}`, () => {
    const interrupted = { code: 'interrupted' } satisfies Partial<ThriceError>;

    it('grants a free slot at once', async () => {
      const governor = await openGovernor(new FakeClock(), 1);

      using slot = await takePermit(governor, 'lab');

      expect(slot.waitMs).toBe(0);
    });

    it('holds callers back while the lane is full', async () => {
      const governor = await openGovernor(new FakeClock(), 2);
      using _first = await takePermit(governor, 'lab');
      const second = await takePermit(governor, 'lab');

      const third = takePermit(governor, 'lab');

      expect(await settledBy(third)).toBe(false);
      second[Symbol.dispose]();
      using granted = await third;
      expect(granted.waitMs).toBe(0);
    });

    it('says how long the grant took', async () => {
      const clock = new FakeClock();
      const governor = await openGovernor(clock, 1);
      const first = await takePermit(governor, 'lab');
      const second = takePermit(governor, 'lab');
      clock.advance(1_500);

      first[Symbol.dispose]();

      using granted = await second;
      expect(granted.waitMs).toBe(1_500);
    });

    it('lets a full lane keep no other lane waiting', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
      using _full = await takePermit(governor, 'lab');

      using granted = await takePermit(governor, 'openai');

      expect(granted.waitMs).toBe(0);
    });

    it('gives a slot back once, however often it is disposed of', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
      const first = await takePermit(governor, 'lab');
      first[Symbol.dispose]();
      first[Symbol.dispose]();

      using _second = await takePermit(governor, 'lab');
      const third = takePermit(governor, 'lab');

      expect(await settledBy(third)).toBe(false);
    });

    it('refuses at once when the signal has aborted already', async () => {
      const governor = await openGovernor(new FakeClock(), 1);

      await expect(takePermit(governor, 'lab', AbortSignal.abort())).rejects.toMatchObject(
        interrupted,
      );

      using granted = await takePermit(governor, 'lab');
      expect(granted.waitMs).toBe(0);
    });

    it('gives up waiting when the signal aborts, and holds nothing then', async () => {
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

    it('keeps a slot whose signal aborts after the grant', async () => {
      const governor = await openGovernor(new FakeClock(), 1);
      const controller = new AbortController();
      using _slot = await takePermit(governor, 'lab', controller.signal);

      controller.abort();

      expect(await settledBy(takePermit(governor, 'lab'))).toBe(false);
    });
  });
}
