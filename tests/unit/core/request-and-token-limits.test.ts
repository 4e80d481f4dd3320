import { describe, expect, it } from 'vitest';
import type { RateLimits } from '../../../packages/core/src/domain/lane-state.ts';
import { LaneLimiter } from '../../../packages/core/src/lanes/lane-limiter.ts';
import type { RateLimitHeaders } from '../../../packages/core/src/ports/governor.ts';
import { aUsage } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryLaneStates } from '../../support/memory-lane-states.ts';
import { refused } from '../../support/permits.ts';

const NO_LIMITS: RateLimits = { requestsPerMinute: null, tokensPerMinute: null };
const usage = aUsage({ inputTokens: 100, outputTokens: 0 });

/** The two limits of a lane, which differ in what a call takes of them: one call a second of either. */
const kinds = [
  { name: 'requestsPerMinute', perMinute: 60, header: 'x-ratelimit-limit-req-minute' },
  { name: 'tokensPerMinute', perMinute: 6_000, header: 'x-ratelimit-limit-tokens-minute' },
] as const;

describe.each(kinds)('the limit $name', ({ name, perMinute, header }) => {
  async function openLimiter(isSpec: boolean) {
    const [states, clock] = [new MemoryLaneStates(), new FakeClock()];
    const limiter = new LaneLimiter({ account: 'lab', states, clock, random: () => 0 });
    await limiter.sync();
    const limits = isSpec ? { ...NO_LIMITS, [name]: perMinute } : NO_LIMITS;
    const call = { model: 'm', limits, tokens: 100 };
    const waitMs = (model = 'm') => limiter.waitMs({ ...call, model }, clock.monotonicMs());
    const answer = async (rateLimits: RateLimitHeaders) => {
      limiter.take(call);
      limiter.settle(call, { kind: 'answered', usage, rateLimits });
      clock.advance(3_000);
      await limiter.sync();
    };
    /** How many calls can be made at once, of at most twenty. */
    const burst = () => {
      let count = 0;
      while (count < 20 && waitMs() <= 0) {
        limiter.take(call);
        count += 1;
      }
      return count;
    };
    return { limiter, states, clock, call, waitMs, answer, burst };
  }

  it('of the spec is kept, over all models', async () => {
    const { burst, waitMs, clock } = await openLimiter(true);
    waitMs();
    clock.advance(1_000);

    expect(burst()).toBe(1);
    expect([waitMs() > 0, waitMs('n') > 0]).toEqual([true, true]);
  });

  it('is given back what a call was to take of it where the answer took less', async () => {
    const { burst, call, limiter, waitMs, clock } = await openLimiter(true);
    waitMs();
    clock.advance(1_000);
    burst();
    const before = waitMs();

    limiter.settle(call, refused());

    // A request that was refused was made; its tokens were not used.
    expect(waitMs() <= 0).toBe(name === 'tokensPerMinute');
    expect(before).toBeGreaterThan(0);
  });

  it('that a vendor states is kept from then on, also where a later answer does not state it', async () => {
    const { answer, states, waitMs, burst, clock } = await openLimiter(false);

    await answer({ [header]: String(perMinute) });
    await answer({});

    expect((await states.read('lab'))?.models['m']?.stated).toEqual({
      ...NO_LIMITS,
      [name]: perMinute,
    });
    waitMs();
    clock.advance(1_000);
    expect(burst()).toBeLessThanOrEqual(2);
    expect(waitMs('n')).toBeLessThanOrEqual(0);
  });

  it('that a vendor states twice within a report is kept where only the first does', async () => {
    const { limiter, call, states } = await openLimiter(false);
    for (const rateLimits of [{ [header]: String(perMinute) }, {}]) {
      limiter.take(call);
      limiter.settle(call, { kind: 'answered', usage, rateLimits });
    }

    await limiter.sync();

    expect((await states.read('lab'))?.models['m']?.stated[name]).toBe(perMinute);
  });
});
