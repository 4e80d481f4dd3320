import type { CallEnd, Governor, ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { answered, aPermitRequest, refused, takePermit } from '../support/permits.ts';
import { settledBy } from '../support/settled-by.ts';

/** Opens the governor of a process. */
export type OpenGovernor = (clock: FakeClock) => Governor;

/** Requests of lanes with so many calls in flight at most. */
const alone = { maxConcurrency: 1 };
const two = { maxConcurrency: 2 };
const interrupted = { code: 'interrupted' } satisfies Partial<ThriceError>;

/** Tests every promise of the `Governor` port. */
export function describeGovernorContract(name: string, openGovernor: OpenGovernor): void {
  describe(`Governor contract: ${name}`, () => {
    it('grants a permit without a wait on an idle lane', async () => {
      const governor = openGovernor(new FakeClock());

      using permit = await takePermit(governor, 'lab');

      expect(permit.waitMs).toBe(0);
    });

    it('throws immediately when the signal is already aborted', async () => {
      const governor = openGovernor(new FakeClock());

      await expect(
        takePermit(governor, 'lab', { signal: AbortSignal.abort() }),
      ).rejects.toMatchObject(interrupted);

      using granted = await takePermit(governor, 'lab');
      expect(granted.waitMs).toBe(0);
    });

    it('makes a refused cell wait as long as the vendor asks', async () => {
      const permit = await takePermit(openGovernor(new FakeClock()), 'lab');

      expect(permit.settle(refused(2_500))).toMatchObject({ delayMs: 2_500 });
    });

    it('makes a refused cell wait when the vendor does not say how long', async () => {
      const permit = await takePermit(openGovernor(new FakeClock()), 'lab');

      expect(permit.settle(refused()).delayMs).toBeGreaterThan(0);
    });

    it.each([answered, { kind: 'failed' } as const])(
      'does not delay a cell whose call ends as $kind',
      async (end) => {
        const permit = await takePermit(openGovernor(new FakeClock()), 'lab');

        expect(permit.settle(end)).toEqual({ delayMs: 0, hasOnlyRefused: false });
      },
    );

    it('says that the lane should be blocked once it has refused all calls for five minutes', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock);
      const callAfter = async (ms: number, end: CallEnd) => {
        clock.advance(ms);
        const waiting = takePermit(governor, 'lab');
        while (!(await settledBy(waiting))) clock.advance(clock.nextDueInMs ?? 0);
        return (await waiting).settle(end).hasOnlyRefused;
      };

      const refuseFor = async (ms: number) => {
        const endMs = clock.monotonicMs() + ms;
        const said: boolean[] = [];
        while (clock.monotonicMs() < endMs) said.push(await callAfter(1_000, refused(0)));
        return said;
      };

      const first = await refuseFor(200_000);
      await callAfter(0, answered);
      const afterAnswer = await refuseFor(200_000);
      const later = await refuseFor(200_000);

      expect(first).not.toContain(true);
      expect(afterAnswer).not.toContain(true);
      expect(later.at(-1)).toBe(true);
    });

    it('does not grant what is obsolete, also to a caller that waits already', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock);
      let isObsolete = false;
      const isDone = () => isObsolete;
      const request = { ...alone, isObsolete: isDone };
      using _first = await takePermit(governor, 'lab', alone);
      const second = governor.grant(aPermitRequest(request));
      const wasSettled = await settledBy(second);

      isObsolete = true;
      clock.advance(1_000);

      expect(wasSettled).toBe(false);
      expect(await second).toEqual({ kind: 'obsolete' });
      expect(await governor.grant(aPermitRequest(request))).toEqual({ kind: 'obsolete' });
    });

    it('says how long it takes where that is too long for the caller', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock);
      const limits = { requestsPerMinute: 1, tokensPerMinute: null };
      const grant = governor.grant(
        aPermitRequest({ limits, canWait: (waitMs) => waitMs < 10_000 }),
      );

      while (!(await settledBy(grant))) clock.advance(1_000);

      expect(clock.monotonicMs()).toBeLessThan(10_000);
      expect(await grant).toMatchObject({ kind: 'too-long' });
    });

    it('makes callers wait while the lane is full', async () => {
      const governor = openGovernor(new FakeClock());
      using _first = await takePermit(governor, 'lab', two);
      const second = await takePermit(governor, 'lab', two);

      const third = takePermit(governor, 'lab', two);

      expect(await settledBy(third)).toBe(false);
      second[Symbol.dispose]();
      using granted = await third;
      expect(granted.waitMs).toBe(0);
    });

    it('reports how long the caller waited', async () => {
      const clock = new FakeClock();
      const governor = openGovernor(clock);
      const first = await takePermit(governor, 'lab', alone);
      const second = takePermit(governor, 'lab', alone);
      clock.advance(1_500);

      first[Symbol.dispose]();

      using granted = await second;
      expect(granted.waitMs).toBe(1_500);
    });

    it('grants a permit on another lane while a lane is full', async () => {
      const governor = openGovernor(new FakeClock());
      using _full = await takePermit(governor, 'lab', alone);

      using granted = await takePermit(governor, 'openai');

      expect(granted.waitMs).toBe(0);
    });

    it('returns a permit only once when it is disposed of twice', async () => {
      const governor = openGovernor(new FakeClock());
      const first = await takePermit(governor, 'lab', alone);
      first[Symbol.dispose]();
      first[Symbol.dispose]();

      using _second = await takePermit(governor, 'lab', alone);
      const third = takePermit(governor, 'lab', alone);

      expect(await settledBy(third)).toBe(false);
    });

    it('stops waiting when the signal aborts, without holding a permit', async () => {
      const governor = openGovernor(new FakeClock());
      const controller = new AbortController();
      const first = await takePermit(governor, 'lab', alone);
      const waiting = takePermit(governor, 'lab', { ...alone, signal: controller.signal });

      controller.abort();

      await expect(waiting).rejects.toMatchObject(interrupted);
      first[Symbol.dispose]();
      using granted = await takePermit(governor, 'lab', alone);
      expect(granted.waitMs).toBe(0);
    });

    it('keeps a permit when its signal aborts after the grant', async () => {
      const governor = openGovernor(new FakeClock());
      const controller = new AbortController();
      using _permit = await takePermit(governor, 'lab', { ...alone, signal: controller.signal });

      controller.abort();

      expect(await settledBy(takePermit(governor, 'lab', alone))).toBe(false);
    });
  });
}
