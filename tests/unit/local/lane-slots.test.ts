import type { CallEnd, Grant, Lane } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { LaneShare } from '../../../packages/local/src/work/lane-share.ts';
import { SlotGovernor } from '../../../packages/local/src/work/slot-governor.ts';
import { aLane, aUsage } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLaneLimits } from '../../support/fake-lane-limits.ts';

const ANSWERED: CallEnd = {
  kind: 'answered',
  usage: aUsage({ inputTokens: 5, outputTokens: 5 }),
  rateLimits: {},
};
const TOO_LARGE: CallEnd = { kind: 'failed' };

/** Processes that share the limits of a lane, in simulated time. */
class Processes {
  readonly #lane: Lane;
  readonly #clock = new FakeClock();
  readonly #limits = new FakeLaneLimits(this.#clock);

  constructor(lane: Partial<Lane>) {
    this.#lane = aLane(lane);
  }

  open(owner: string) {
    const [clock, lane] = [this.#clock, this.#lane];
    const share = new LaneShare({ lane, owner, group: owner, limits: this.#limits, clock });
    const perLane = new Map([['lab', 8]]);
    const shares = new Map([['lab', share]]);
    const governor = new SlotGovernor({ clock, total: 8, perLane, random: () => 0, shares });
    /** The time at which each of these calls was granted, ms; undefined while it waits. */
    const ask = (tokens = 10) => {
      const call: { atMs?: number; grant?: Grant } = {};
      const request = { group: owner, lane: 'lab', model: 'm', inputTokens: tokens };
      const limits = { requestsPerMinute: null, tokensPerMinute: null };
      const maxConcurrency = null;
      const { signal } = new AbortController();
      void governor
        .grant({
          ...{ ...request, limits, maxConcurrency },
          ...{ estimatedTokens: tokens, canWait: () => true, signal },
        })
        .then((grant) => Object.assign(call, { grant, atMs: clock.monotonicMs() }));
      return call;
    };
    return { ask };
  }

  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      const nextMs = this.#clock.nextDueInMs ?? Number.POSITIVE_INFINITY;
      if (this.nowMs + nextMs > endMs) break;
      this.#clock.advance(nextMs);
    }
    this.#clock.advance(endMs - this.nowMs);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  }
}

async function settle({ grant }: { readonly grant?: Grant }, end: CallEnd): Promise<void> {
  if (grant?.kind !== 'granted') throw new Error('expected a permit');
  await grant.permit.settle(end);
}

describe('a process that has not called a lane for a while', () => {
  it('asks for its slots again before its next call, because others may have them', async () => {
    const processes = new Processes({ maxConcurrency: 2 });
    const [ann, bob] = [processes.open('ann'), processes.open('bob')];
    const early = ann.ask();
    await processes.pass(100);
    await settle(early, ANSWERED);
    await processes.pass(10_000);
    const others = [bob.ask(), bob.ask()];
    await processes.pass(3_000);

    const late = [ann.ask(), ann.ask()];
    await processes.pass(60);

    expect(others.filter(({ grant }) => grant !== undefined)).toHaveLength(2);
    expect(late.filter(({ grant }) => grant !== undefined)).toHaveLength(0);
  });

  it('keeps the slot of its next call, however long that takes', async () => {
    const processes = new Processes({ maxConcurrency: 1 });
    const [ann, bob] = [processes.open('ann'), processes.open('bob')];
    const early = ann.ask();
    await processes.pass(100);
    await settle(early, ANSWERED);
    await processes.pass(2_000);
    const long = ann.ask();
    await processes.pass(8_000);

    const other = bob.ask();
    await processes.pass(2_000);

    expect(long.grant?.kind).toBe('granted');
    expect(other.grant).toBe(undefined);
  });
});

describe('a call larger than the tokens of a minute', () => {
  it('is made, and delays the next one by a minute at most', async () => {
    const processes = new Processes({ tokensPerMinute: 1_000 });
    const { ask } = processes.open('ann');
    const huge = ask(200_000);
    await processes.pass(1_000);
    await settle(huge, TOO_LARGE);
    const askedMs = processes.nowMs;

    const next = ask(100);
    await processes.pass(120_000);

    expect((next.atMs ?? Number.NaN) - askedMs).toBeLessThanOrEqual(60_000);
  });
});
