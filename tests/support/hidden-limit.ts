import { type CallEnd, type LanePaces, type Permit, SharedGovernor, UNLIMITED } from '@thrice/core';
import type { RateLimit, RateWindow } from '@thrice/simulator';
import { RateLimiter } from '../../packages/simulator/src/rate-limiter.ts';
import { aUsage } from './builders.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeLaneSlots } from './fake-lane-slots.ts';
import { seededDraw } from './kill-tracker.ts';

/** How long a refusal takes, ms. */
const REFUSED_MS = 20;

/** Workers of one group, each an execution environment of its own that calls again as soon as it has its answer. */
export interface WorkerGroup {
  readonly group: string;
  readonly workerCount: number;
}

/** A provider that does not tell its limit. */
export interface HiddenLimit {
  readonly limit: RateLimit;
  /** How long an answer takes, ms: between half and one and a half times this. */
  readonly latencyMs: number;
  /** Of a call. */
  readonly tokens: number;
  /** The share of the calls that it refuses whatever their rate is, 0..1. */
  readonly chanceRatio?: number;
}

/**
 * Lets workers of a stage call a provider with a hidden limit, in simulated time.
 *
 * @returns What the provider saw, in windows of ten seconds.
 */
export async function callHiddenLimit({
  provider,
  groups,
  paces,
  seconds,
}: {
  readonly provider: HiddenLimit;
  readonly groups: readonly WorkerGroup[];
  readonly paces: LanePaces;
  readonly seconds: number;
}): Promise<readonly RateWindow[]> {
  const clock = new FakeClock();
  const slots = new FakeLaneSlots();
  const limiter = new RateLimiter(provider.limit);
  const startMs = clock.monotonicMs();
  const elapsedMs = () => clock.monotonicMs() - startMs;
  const isOver = () => elapsedMs() >= seconds * 1000;
  const end = new AbortController();
  const workers = groups.flatMap(({ group, workerCount }) =>
    Array.from({ length: workerCount }, (_, index) => work(group, index)),
  );

  async function work(group: string, index: number): Promise<void> {
    const random = seededDraw(index + 1);
    let tokenNo = 0;
    const createToken = () => {
      tokenNo += 1;
      return `${group}-${index}-${tokenNo}`;
    };
    const governor = new SharedGovernor({ paces, slots, clock, random, createToken });
    while (!isOver()) {
      await call(governor, group, random).catch((error: unknown) => {
        if (!isOver()) throw error;
      });
    }
  }

  /** Calls until it is answered, as a cell whose message comes back. */
  async function call(governor: SharedGovernor, group: string, random: () => number) {
    const cell = governor.forCell();
    const { signal } = end;
    const request = {
      ...{ lane: 'lab', model: 'm', group, limits: UNLIMITED, maxConcurrency: null, signal },
      inputTokens: provider.tokens,
      estimatedTokens: provider.tokens,
    };
    let waitMs: number | undefined = 0;
    while (waitMs !== undefined && !isOver()) {
      await clock.sleep(waitMs, signal);
      const grant = await cell.grant({ ...request, canWait: () => true });
      waitMs =
        grant.kind === 'granted'
          ? await makeCall(grant.permit, group, random)
          : grant.atMs - clock.now();
    }
  }

  /** Returns how long the cell has to wait for its next call; undefined once it is answered. */
  async function makeCall(permit: Permit, group: string, random: () => number) {
    if (isOver()) return undefined;
    const ended = await askProvider(group, random);
    const { delayMs } = await permit.settle(ended);
    return ended.kind === 'answered' ? undefined : delayMs;
  }

  async function askProvider(group: string, random: () => number): Promise<CallEnd> {
    const { tokens, latencyMs, chanceRatio = 0 } = provider;
    if (random() < chanceRatio) {
      await clock.sleep(REFUSED_MS, end.signal);
      return { kind: 'refused', retryAfterMs: 1_000, rateLimits: {}, reason: 'busy' };
    }
    const asked = { elapsedMs: elapsedMs(), nowMs: clock.now(), tokens, run: `${group}-r1` };
    const { refusal, headers } = limiter.admit(asked);
    const rateLimits = toRecord([...headers, ...(refusal?.headers ?? [])]);
    await clock.sleep(refusal ? REFUSED_MS : latencyMs * (0.5 + random()), end.signal);
    if (refusal !== undefined) {
      const retryAfterMs = retryAfterOf(rateLimits);
      return { kind: 'refused', retryAfterMs, rateLimits, reason: refusal.message };
    }
    limiter.release();
    const usage = aUsage({ inputTokens: tokens, outputTokens: 0 });
    return { kind: 'answered', usage, rateLimits };
  }

  await passTime(clock, Promise.all(workers), () => isOver() && end.abort());
  return limiter.windows(seconds * 1000);
}

function toRecord(headers: readonly string[]): Readonly<Record<string, string>> {
  const pairs = headers.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1] ?? ''] as const] : [],
  );
  return Object.fromEntries(pairs);
}

function retryAfterOf(headers: Readonly<Record<string, string>>): number | undefined {
  const inMs = headers['retry-after-ms'];
  if (inMs !== undefined) return Number(inMs);
  const seconds = headers['retry-after'];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Advances the time from one pending sleep to the next until the work ends. */
async function passTime(clock: FakeClock, work: Promise<unknown>, onStep: () => void) {
  let isEnded = false;
  const end = work.finally(() => {
    isEnded = true;
  });
  while (!isEnded) {
    await new Promise(setImmediate);
    onStep();
    const nextMs = clock.nextDueInMs;
    if (nextMs !== undefined) clock.advance(nextMs);
  }
  await end;
}
