import type { LaneLimits, LaneReport } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';

/** Two connections to the same limits, as two processes have them. */
export interface OpenedLimits extends AsyncDisposable {
  readonly limits: LaneLimits;
  readonly other: LaneLimits;
}

function aReport(parts: Partial<LaneReport> = {}): LaneReport {
  return {
    owner: 'ann',
    group: 'a',
    inUse: 1,
    waiting: 100,
    spec: { requestsPerMinute: 600, tokensPerMinute: null, maxConcurrency: null },
    used: { requests: 0, tokens: 0 },
    returnedTokens: 0,
    stated: { requests: null, tokens: null },
    refusals: [],
    wants: { requests: 5, tokens: 0, first: 1 },
    ...parts,
  };
}

/** Refusals of calls that were in flight together: so many that there must be a limit. */
function refusalsAt(sentAtMs: number, retryAfterMs: number): LaneReport['refusals'] {
  const refusal = { sentAtMs, retryAfterMs, named: null, reason: '429' };
  return Array.from({ length: 12 }, () => refusal);
}

/** Tests every promise of the `LaneLimits` port. */
export function describeLaneLimitsContract(
  name: string,
  open: (clock: FakeClock) => Promise<OpenedLimits>,
): void {
  describe(`LaneLimits contract: ${name}`, () => {
    it('leases no two processes the same time, however many ask at once', async () => {
      await using opened = await open(new FakeClock());

      const owners = ['ann', 'bob', 'cem', 'dee'];
      const shares = await Promise.all(
        owners.map((owner, index) =>
          (index % 2 === 0 ? opened.limits : opened.other).exchange('lab', aReport({ owner })),
        ),
      );

      const blocks = shares.flatMap(({ requests }) => requests ?? []);
      blocks.sort((left, right) => left.fromMs - right.fromMs);
      expect(blocks).toHaveLength(owners.length);
      for (const [index, { fromMs, untilMs }] of blocks.entries()) {
        expect(untilMs - fromMs).toBe(500);
        expect(fromMs).toBeGreaterThanOrEqual(blocks[index - 1]?.untilMs ?? 0);
      }
    });

    it('keeps the accounts apart', async () => {
      await using opened = await open(new FakeClock());
      await opened.limits.exchange('lab', aReport());

      const { requests } = await opened.other.exchange('other', aReport({ owner: 'bob' }));
      const first = await opened.limits.exchange('third', aReport());

      expect(requests?.fromMs).toBe(first.requests?.fromMs);
      expect(await opened.limits.read('fourth')).toBeUndefined();
    });

    it('tells every process of a hold', async () => {
      const clock = new FakeClock();
      await using opened = await open(clock);
      const refusals = refusalsAt(clock.now(), 7_000);
      await opened.limits.exchange('lab', aReport({ refusals }));

      const share = await opened.other.exchange('lab', aReport({ owner: 'bob' }));

      expect(share).toMatchObject({ heldUntilMs: clock.now() + 7_000, reason: '429' });
      expect(share.requests?.fromMs).toBeGreaterThanOrEqual(clock.now() + 7_000);
    });

    it('does not stand still when the clock is set back by an hour', async () => {
      const clock = new FakeClock();
      await using opened = await open(clock);
      const refusals = refusalsAt(clock.now(), 2_000);
      await opened.limits.exchange('lab', aReport({ refusals }));

      clock.setWallClock(clock.now() - 3_600_000);
      const share = await opened.other.exchange('lab', aReport({ owner: 'bob' }));

      expect(share.heldUntilMs).toBe(clock.now() + 2_000);
      expect(share.requests?.fromMs).toBeLessThan(clock.now() + 5_000);
    });

    it('counts what a process that left has used, so that the next one does not use it again', async () => {
      const clock = new FakeClock();
      await using opened = await open(clock);
      const { requests } = await opened.limits.exchange('lab', aReport());
      await opened.limits.leave(['lab'], 'ann');

      const next = await opened.other.exchange('lab', aReport({ owner: 'bob' }));

      expect(requests?.untilMs).toBeGreaterThan(clock.now());
      expect(next.requests?.fromMs).toBe(requests?.untilMs);
    });

    it('gives the slots of a process that left, or was not heard of for five seconds, to the others', async () => {
      const clock = new FakeClock();
      await using opened = await open(clock);
      const spec = { requestsPerMinute: null, tokensPerMinute: null, maxConcurrency: 4 };
      const exchange = async (owner: string) => {
        const report = aReport({ owner, spec, inUse: 0 });
        return (await opened.limits.exchange('lab', report)).slots;
      };
      await exchange('ann');
      await opened.other.exchange('lab', aReport({ owner: 'bob', spec, inUse: 0 }));

      const shared = await exchange('ann');
      await opened.other.leave(['lab', 'unused'], 'bob');
      const alone = await exchange('ann');
      await exchange('bob');
      await exchange('ann');
      clock.advance(5_000);
      const survivor = await exchange('cem');

      expect([shared, alone, survivor]).toEqual([2, 4, 4]);
    });
  });
}
