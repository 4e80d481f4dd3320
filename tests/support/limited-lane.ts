import type { CallEnd, Lane, LaneLimits, Random, RateLimitHeaders } from '@thrice/core';
import { LaneShare } from '../../packages/local/src/work/lane-share.ts';
import { SlotGovernor } from '../../packages/local/src/work/slot-governor.ts';
import { aLane, aUsage } from './builders.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeLaneLimits } from './fake-lane-limits.ts';

/** A vendor's token buckets, one for requests and one for tokens. */
export interface HiddenLimit {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
}

/** A simulated vendor. */
export interface LimitedVendor extends HiddenLimit {
  /** What its buckets hold, in seconds of the limit; at least one call. */
  readonly burstSeconds: number;
  readonly latencyMs: number;
  /** How a refusal says when to come back. */
  readonly header: 'seconds' | 'milliseconds' | 'none';
  /** Whether the headers of each response state the limit of requests. @default false */
  readonly statesLimit?: boolean;
  /** Share of the calls that are refused whatever the rate is, 0..1. @default 0 */
  readonly chance?: number;
  /** Another limit from a time on. */
  readonly change?: HiddenLimit & { readonly atMs: number };
}

/** A process of a simulated run: so many workers, which call as long as the run lasts. */
export interface SimulatedProcess {
  readonly group: string;
  readonly workers: number;
  /** @default the whole run */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

/** What a simulated vendor has seen from one time to another. */
export interface SeenWindow {
  /** Share of what the limit offered that was used, of the limit that is used more: 0..1, above 1 with a burst. */
  readonly usedRatio: number;
  /** Share of the calls that were refused. */
  readonly refusedRatio: number;
  /** Answered calls by group. */
  readonly byGroup: Readonly<Record<string, number>>;
  readonly maxInFlight: number;
}

interface SeenCall {
  readonly atMs: number;
  readonly group: string;
  readonly tokens: number;
  readonly isRefused: boolean;
  readonly inFlight: number;
}

/** The result of a simulated run. */
export interface LimitedRun {
  readonly between: (fromMs: number, untilMs: number) => SeenWindow;
  /**
   * The shortest time from a refusal to a later call, ms, without the calls of the time that it takes until every process
   * knows of it.
   */
  readonly earliestAfterRefusal: (knownAfterMs: number) => number;
  readonly exchangeCount: number;
  readonly callCount: number;
  readonly limits: FakeLaneLimits;
}

/** Runs the governors of several processes against a vendor with hidden limits, in simulated time. */
export async function runLimitedLane({
  vendor,
  processes,
  durationMs,
  lane = {},
  tokensOf = () => 500,
  random = seededRandom(1),
  writeMs = 20,
  openLimits,
}: {
  readonly vendor: LimitedVendor;
  readonly processes: readonly SimulatedProcess[];
  readonly durationMs: number;
  readonly lane?: Partial<Lane>;
  /** The tokens of a call; half of them are input. */
  readonly tokensOf?: (random: Random) => number;
  readonly random?: Random;
  /** How long an exchange with the ledger takes. */
  readonly writeMs?: number;
  /** Opens the ledger of a process, whose exchanges take no simulated time. @default one in memory for all */
  readonly openLimits?: (clock: FakeClock) => Pick<LaneLimits, 'exchange'>;
}): Promise<LimitedRun> {
  const clock = new FakeClock();
  const limits = new FakeLaneLimits(clock);
  limits.latencyMs = writeMs;
  const exchanges = new Exchanges();
  const server = new LimitedServer(vendor, clock);
  let isOver = false;
  const work = async (
    { group, workers, fromMs = 0, untilMs = durationMs }: SimulatedProcess,
    index: number,
  ) => {
    await clock.sleep(fromMs);
    const own = openLimits === undefined ? limits : exchanges.watch(openLimits(clock));
    const init = { lane: aLane(lane), owner: `p${index}`, group, clock };
    const share = new LaneShare({ ...init, limits: own });
    const governor = new SlotGovernor({
      clock,
      total: workers,
      perLane: new Map([['lab', workers]]),
      random,
      shares: new Map([['lab', share]]),
    });
    const call = async () => {
      while (clock.monotonicMs() < untilMs) {
        const tokens = tokensOf(random);
        const inputTokens = Math.round(tokens / 2);
        const outputTokens = tokens - inputTokens;
        const grant = await governor.grant({
          group,
          lane: 'lab',
          model: 'm',
          limits: { requestsPerMinute: null, tokensPerMinute: null },
          maxConcurrency: null,
          // The bound of a prompt is about twice of what it is.
          inputTokens: tokens,
          estimatedTokens: tokens + 1_000,
          canWait: () => true,
          signal: new AbortController().signal,
        });
        if (grant.kind !== 'granted') throw new Error('expected a permit');
        const end = await server.call(group, { inputTokens, outputTokens });
        const { delayMs } = await grant.permit.settle(end);
        if (delayMs > 0) await clock.sleep(delayMs);
      }
    };
    const ended = Promise.allSettled(Array.from({ length: workers }, call));
    await clock.sleep(untilMs - fromMs);
    governor.close();
    await ended;
  };
  const all = Promise.all(processes.map(work)).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise(setImmediate);
    if (exchanges.count > 0) continue;
    const nextMs = clock.nextDueInMs;
    if (nextMs !== undefined) clock.advance(nextMs);
  }
  await all;
  return {
    between: (fromMs, untilMs) => server.between(fromMs, untilMs),
    earliestAfterRefusal: (knownAfterMs) => server.earliestAfterRefusal(knownAfterMs),
    exchangeCount: limits.exchangeCount,
    callCount: server.callCount,
    limits,
  };
}

/** Counts the exchanges with a ledger that are under way: the time stands still for them. */
class Exchanges {
  count = 0;

  watch(limits: Pick<LaneLimits, 'exchange'>): LaneLimits {
    const exchange: LaneLimits['exchange'] = async (account, report) => {
      this.count += 1;
      try {
        return await limits.exchange(account, report);
      } finally {
        this.count -= 1;
      }
    };
    return { exchange, leave: async () => undefined, read: async () => undefined };
  }
}

class LimitedServer {
  readonly #vendor: LimitedVendor;
  readonly #clock: FakeClock;
  readonly #seen: SeenCall[] = [];
  readonly #draw = seededRandom(7);
  readonly #buckets: { requests: number; tokens: number };
  #filledAtMs = 0;
  #inFlight = 0;

  constructor(vendor: LimitedVendor, clock: FakeClock) {
    this.#vendor = vendor;
    this.#clock = clock;
    this.#buckets = { requests: this.#capacity('requests'), tokens: this.#capacity('tokens') };
  }

  get callCount(): number {
    return this.#seen.length;
  }

  async call(
    group: string,
    usage: { readonly inputTokens: number; readonly outputTokens: number },
  ): Promise<CallEnd> {
    const { latencyMs, header } = this.#vendor;
    const tokens = usage.inputTokens + usage.outputTokens;
    this.#fill();
    const waits = [this.#waitMs('requests', 1), this.#waitMs('tokens', tokens)];
    const isByChance = this.#draw() < (this.#vendor.chance ?? 0);
    const waitMs = Math.max(isByChance ? 1_000 : 0, ...waits);
    const isRefused = waitMs > 0;
    this.#inFlight += 1;
    const inFlight = this.#inFlight;
    this.#seen.push({ atMs: this.#clock.monotonicMs(), group, tokens, isRefused, inFlight });
    if (!isRefused) {
      this.#buckets.requests -= 1;
      this.#buckets.tokens -= tokens;
    }
    await this.#clock.sleep(isRefused ? 50 : latencyMs);
    this.#inFlight -= 1;
    const rateLimits = this.#headers();
    if (!isRefused) return { kind: 'answered', usage: aUsage(usage), rateLimits };
    const unitMs = header === 'seconds' ? 1_000 : 1;
    const retryAfterMs = header === 'none' ? undefined : Math.ceil(waitMs / unitMs) * unitMs;
    return { kind: 'refused', retryAfterMs, rateLimits, reason: '429 too many requests' };
  }

  between(fromMs: number, untilMs: number): SeenWindow {
    const calls = this.#seen.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
    const answered = calls.filter(({ isRefused }) => !isRefused);
    const minutes = (untilMs - fromMs) / 60_000;
    const tokens = answered.reduce((sum, call) => sum + call.tokens, 0);
    const ratios = [
      answered.length / (this.#limitAt('requests', fromMs) * minutes),
      tokens / (this.#limitAt('tokens', fromMs) * minutes),
    ];
    const byGroup: Record<string, number> = {};
    for (const { group } of answered) byGroup[group] = (byGroup[group] ?? 0) + 1;
    return {
      usedRatio: Math.max(...ratios),
      refusedRatio: calls.length === 0 ? 0 : (calls.length - answered.length) / calls.length,
      byGroup,
      maxInFlight: Math.max(0, ...calls.map(({ inFlight }) => inFlight)),
    };
  }

  #headers(): RateLimitHeaders {
    if (this.#vendor.statesLimit !== true) return {};
    const limit = this.#limitAt('requests', this.#clock.monotonicMs());
    return { 'x-ratelimit-limit-req-minute': String(limit) };
  }

  earliestAfterRefusal(knownAfterMs: number): number {
    const refusals = this.#seen.filter(({ isRefused }) => isRefused);
    const gaps = refusals.flatMap(({ atMs }) =>
      this.#seen.map((call) => call.atMs - atMs).filter((gapMs) => gapMs > knownAfterMs),
    );
    return Math.min(...gaps);
  }

  #limitAt(kind: 'requests' | 'tokens', atMs: number): number {
    const { change, ...first } = this.#vendor;
    const limit: HiddenLimit = change !== undefined && atMs >= change.atMs ? change : first;
    const perMinute = kind === 'requests' ? limit.requestsPerMinute : limit.tokensPerMinute;
    return perMinute ?? Number.POSITIVE_INFINITY;
  }

  #capacity(kind: 'requests' | 'tokens'): number {
    const perSecond = this.#limitAt(kind, this.#clock.monotonicMs()) / 60;
    return Math.max(kind === 'requests' ? 1 : 2_000, perSecond * this.#vendor.burstSeconds);
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const elapsedMs = nowMs - this.#filledAtMs;
    this.#filledAtMs = nowMs;
    for (const kind of ['requests', 'tokens'] as const) {
      const perMs = this.#limitAt(kind, nowMs) / 60_000;
      this.#buckets[kind] =
        perMs === Number.POSITIVE_INFINITY
          ? Number.POSITIVE_INFINITY
          : Math.min(this.#capacity(kind), this.#buckets[kind] + elapsedMs * perMs);
    }
  }

  #waitMs(kind: 'requests' | 'tokens', amount: number): number {
    const missing = amount - this.#buckets[kind];
    if (missing <= 1e-9) return 0;
    return Math.max(1, (missing * 60_000) / this.#limitAt(kind, this.#clock.monotonicMs()));
  }
}

/** A small generator of numbers in 0..1, the same for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
