import { type Clock, type GroupWork, limits, type WorkLeases, workLeaseMs } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';

/** A fresh, empty store. */
export interface WorkLeasesUnderTest extends AsyncDisposable {
  readonly workLeases: WorkLeases;
  /** The same store, accessed by another process. */
  readonly other: WorkLeases;
}

/** Opens a fresh, empty store. */
export type OpenWorkLeases = (clock: Clock) => Promise<WorkLeasesUnderTest>;

const plan: GroupWork = { group: 'demo', work: 'plan' };

/** Tests every promise of the `WorkLeases` port. */
export function describeWorkLeasesContract(name: string, open: OpenWorkLeases): void {
  describe(`WorkLeases contract: ${name}`, () => {
    it('has one owner of a part at a time', async () => {
      await using store = await open(new FakeClock());

      const first = await store.workLeases.claim(plan, 'ann', 'request-1');
      const second = await store.other.claim(plan, 'bob', 'request-1');

      expect(first).toEqual({ kind: 'claimed', checkpoint: undefined, failureCount: 0 });
      expect(second).toMatchObject({ kind: 'held' });
    });

    it('says which request its owner serves, and how long it holds the work', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      await store.workLeases.claim(plan, 'ann', 'request-1');
      clock.advance(1_000);

      const claim = await store.other.claim(plan, 'bob', 'request-2');

      const leaseMs = limits.leaseMs - 1_000;
      expect(claim).toEqual({ kind: 'held', requestId: 'request-1', failureCount: 0, leaseMs });
    });

    it('has one owner even if several claim at once', async () => {
      await using store = await open(new FakeClock());
      const owners = ['ann', 'bob', 'cid', 'dot'];

      const claims = await Promise.all(
        owners.map((owner, index) =>
          (index % 2 === 0 ? store.workLeases : store.other).claim(plan, owner, 'request-1'),
        ),
      );

      expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    });

    it.each<GroupWork>([
      { group: 'demo', work: 'results' },
      { group: 'demo', work: '["refill","hub/org/m:free é#1"]' },
      { group: 'other', work: 'plan' },
    ])('keeps other work apart: %j', async (work) => {
      await using store = await open(new FakeClock());
      await store.workLeases.claim(plan, 'ann', 'request-1');
      await store.workLeases.save(plan, 'ann', 'far');

      expect(await store.other.claim(work, 'bob', 'request-1')).toEqual({
        kind: 'claimed',
        checkpoint: undefined,
        failureCount: 0,
      });
    });

    it('continues the next part from the checkpoint', async () => {
      await using store = await open(new FakeClock());
      await store.workLeases.claim(plan, 'ann', 'request-1');

      const isSaved = await store.workLeases.save(plan, 'ann', 'half');
      await store.workLeases.save(plan, 'ann', 'far');
      await store.workLeases.release(plan, 'ann');

      expect(isSaved).toBe(true);
      expect(await store.other.claim(plan, 'bob', 'request-1')).toEqual({
        kind: 'claimed',
        checkpoint: 'far',
        failureCount: 0,
      });
    });

    it('starts anew once the work has ended', async () => {
      await using store = await open(new FakeClock());
      await store.workLeases.claim(plan, 'ann', 'request-1');
      await store.workLeases.save(plan, 'ann', 'far');

      await store.workLeases.end(plan, 'ann');
      await store.workLeases.end(plan, 'ann');

      expect(await store.other.claim(plan, 'bob', 'request-1')).toEqual({
        kind: 'claimed',
        checkpoint: undefined,
        failureCount: 0,
      });
    });

    it('lets others claim when the lease has expired, later after each failure in a row', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      const claims: unknown[] = [];

      for (let failureCount = 0; failureCount < 8; failureCount += 1) {
        claims.push(await store.workLeases.claim(plan, `worker-${failureCount}`, 'request-1'));
        clock.advance(workLeaseMs(failureCount) - 1);
        claims.push(await store.other.claim(plan, 'early', 'request-1'));
        clock.advance(1);
      }

      expect(claims).toEqual(
        Array.from({ length: 8 }, (_, failureCount) => [
          { kind: 'claimed', checkpoint: undefined, failureCount },
          { kind: 'held', requestId: 'request-1', failureCount, leaseMs: 1 },
        ]).flat(),
      );
    });

    it('forgets the failures when a checkpoint is saved', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      await store.workLeases.claim(plan, 'ann', 'request-1');
      clock.advance(limits.leaseMs);
      await store.workLeases.claim(plan, 'bob', 'request-1');
      await store.workLeases.save(plan, 'bob', 'far');

      const early = await store.other.claim(plan, 'cid', 'request-1');
      clock.advance(limits.leaseMs);
      const late = await store.other.claim(plan, 'cid', 'request-1');

      expect(early).toMatchObject({ kind: 'held' });
      expect(late).toEqual({ kind: 'claimed', checkpoint: 'far', failureCount: 0 });
    });

    it('keeps the part of an owner that extends it', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      await store.workLeases.claim(plan, 'ann', 'request-1');
      clock.advance(limits.leaseMs - 1);

      const isHeld = await store.workLeases.extend(plan, 'ann', 2 * limits.leaseMs);
      clock.advance(2 * limits.leaseMs - 1);

      expect(isHeld).toBe(true);
      expect(await store.other.claim(plan, 'bob', 'request-1')).toMatchObject({ kind: 'held' });
    });

    it('lets an owner continue after its lease has expired unless another has claimed', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      await store.workLeases.claim(plan, 'ann', 'request-1');
      clock.advance(limits.leaseMs);

      const isHeld = await store.workLeases.save(plan, 'ann', 'half');

      expect(isHeld).toBe(true);
      expect(await store.other.claim(plan, 'bob', 'request-1')).toMatchObject({ kind: 'held' });
    });

    it('refuses an owner whose part another has claimed', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      await store.workLeases.claim(plan, 'ann', 'request-1');
      clock.advance(limits.leaseMs);
      await store.other.claim(plan, 'bob', 'request-1');
      await store.other.save(plan, 'bob', 'far');

      const areHeld = [
        await store.workLeases.extend(plan, 'ann', limits.leaseMs),
        await store.workLeases.save(plan, 'ann', 'half'),
      ];
      await store.workLeases.release(plan, 'ann');
      await store.workLeases.end(plan, 'ann');

      expect(areHeld).toEqual([false, false]);
      expect(await store.other.claim(plan, 'cid', 'request-1')).toMatchObject({ kind: 'held' });
      clock.advance(limits.leaseMs);
      expect(await store.other.claim(plan, 'cid', 'request-1')).toMatchObject({
        checkpoint: 'far',
      });
    });

    it('forgets all work of a group, whoever holds it', async () => {
      await using store = await open(new FakeClock());
      const other = { group: 'demo-2', work: 'plan' };
      for (const work of [plan, other]) await store.workLeases.claim(work, 'ann', 'request-1');
      await store.workLeases.save(plan, 'ann', 'far');

      await store.other.endAll('demo');

      expect(await store.workLeases.save(plan, 'ann', 'farther')).toBe(false);
      expect(await store.workLeases.extend(other, 'ann', limits.leaseMs)).toBe(true);
      expect(await store.other.claim(plan, 'bob', 'request-2')).toEqual({
        kind: 'claimed',
        checkpoint: undefined,
        failureCount: 0,
      });
    });

    it('takes all work of a group from its owners, and says again that they may be at it', async () => {
      await using store = await open(new FakeClock());
      const [other, results] = [
        { group: 'demo-2', work: 'plan' },
        { group: 'demo', work: 'results' },
      ];
      await store.workLeases.claim(plan, 'ann', 'request-1');
      await store.workLeases.claim(results, 'bob', 'request-2');
      await store.workLeases.save(results, 'bob', 'far');
      await store.workLeases.claim(other, 'cid', 'request-3');

      const isInUse = await store.other.revokeAll('demo');

      expect(isInUse).toBe(true);
      expect(await store.workLeases.extend(plan, 'ann', limits.leaseMs)).toBe(false);
      expect(await store.workLeases.save(results, 'bob', 'farther')).toBe(false);
      expect(await store.workLeases.extend(other, 'cid', limits.leaseMs)).toBe(true);
      expect(await store.other.revokeAll('demo')).toBe(true);
    });

    it('says that work may be in use whose lease has ended, but not what was released or ended', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      const ended = { group: 'demo', work: 'results' };
      const slow = { group: 'demo-2', work: 'plan' };
      for (const work of [plan, ended, slow])
        await store.workLeases.claim(work, 'ann', 'request-1');
      await store.workLeases.release(plan, 'ann');
      await store.workLeases.end(ended, 'ann');
      clock.advance(limits.leaseMs);

      expect(await store.other.revokeAll('demo')).toBe(false);
      expect(await store.other.revokeAll('demo-2')).toBe(true);
    });

    it('refuses an owner that has released the part', async () => {
      await using store = await open(new FakeClock());
      await store.workLeases.claim(plan, 'ann', 'request-1');
      await store.workLeases.release(plan, 'ann');

      expect(await store.workLeases.extend(plan, 'ann', limits.leaseMs)).toBe(false);
      expect(await store.workLeases.save(plan, 'ann', 'far')).toBe(false);
    });
  });
}
