import type { ApiError } from './api-error.ts';
import type { RateLimit } from './load-rate-limit.ts';
import { describeLimits } from './rate-limit-headers.ts';
import { type Allowed, type RateWindow, RateWindows } from './rate-windows.ts';
import { TokenBucket } from './token-bucket.ts';

const DEFAULT_BURST_SECONDS = 60;
const REFUSED = { status: 429, code: 'rate_limit_exceeded' } as const;

/** A request that asks for admission. */
export interface LimitedRequest {
  /** Since the first request. */
  readonly elapsedMs: number;
  readonly nowMs: number;
  /** What its response will report. */
  readonly tokens: number;
  readonly run: string | undefined;
}

/** Whether a request is admitted, and the headers of its response, as a flat list of names and values. */
export interface Admission {
  /** Undefined if it is admitted. */
  readonly refusal: ApiError | undefined;
  readonly headers: readonly string[];
}

/**
 * The rate limit of the simulated provider.
 *
 * A request is admitted if the buckets of requests and tokens have enough for it and not too many requests are open.
 * A refused one takes nothing from them.
 */
export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #requests: TokenBucket | undefined;
  readonly #tokens: TokenBucket | undefined;
  readonly #windows: RateWindows;
  #maxConcurrency: number;
  #openCount = 0;
  #receivedCount = 0;
  #elapsedMs = 0;
  #isChanged = false;

  constructor(limit: RateLimit) {
    this.#limit = limit;
    const { requestsPerMinute, tokensPerMinute, burstSeconds = DEFAULT_BURST_SECONDS } = limit;
    const open = (perMinute: number | undefined) =>
      perMinute === undefined ? undefined : new TokenBucket({ perMinute, burstSeconds });
    this.#requests = open(requestsPerMinute);
    this.#tokens = open(tokensPerMinute);
    this.#maxConcurrency = limit.maxConcurrency ?? Number.POSITIVE_INFINITY;
    this.#windows = new RateWindows(this.#allowed);
  }

  /** Admits or refuses a request. An admitted one has to be released. */
  admit({ elapsedMs, nowMs, tokens, run }: LimitedRequest): Admission {
    this.#receivedCount += 1;
    this.#advance(elapsedMs);
    if (this.#receivedCount > (this.#limit.change?.afterRequests ?? Infinity)) this.#change();
    const refusal = this.#refusalOf(tokens);
    if (refusal === undefined) {
      this.#requests?.take(1);
      this.#tokens?.take(tokens);
      this.#openCount += 1;
      this.#windows.admitted(tokens, run);
    } else this.#windows.refused();
    const buckets = { requests: this.#requests, tokens: this.#tokens };
    return { refusal, headers: describeLimits(this.#limit.headers, buckets, nowMs) };
  }

  /** The response to an admitted request has ended. */
  release(): void {
    this.#openCount -= 1;
  }

  /** The windows until now. */
  windows(elapsedMs: number): readonly RateWindow[] {
    this.#advance(elapsedMs);
    return this.#windows.snapshot(this.#allowed);
  }

  #refusalOf(tokens: number): ApiError | undefined {
    const requestsMs = this.#requests?.msUntil(1) ?? 0;
    const tokensMs = this.#tokens?.msUntil(tokens) ?? 0;
    const waitMs = Math.max(requestsMs, tokensMs);
    if (waitMs > 0) {
      const bound = tokensMs > requestsMs ? 'tokens' : 'requests';
      const headers = this.#waitHeaders(waitMs);
      return { ...REFUSED, type: bound, message: `Rate limit reached for ${bound}.`, headers };
    }
    if (this.#openCount < this.#maxConcurrency) return undefined;
    // In the words of Z.AI (vector zai-1); it is not known when another call will be served.
    const message = 'High concurrency usage of this API, please reduce concurrency';
    return { ...REFUSED, type: 'requests', message };
  }

  #waitHeaders(waitMs: number): readonly string[] {
    switch (this.#limit.retryAfter) {
      case undefined:
        return [];
      case 'seconds':
        return ['Retry-After', String(Math.ceil(waitMs / 1000))];
      case 'milliseconds':
        return ['retry-after-ms', String(Math.ceil(waitMs))];
    }
  }

  get #allowed(): Allowed {
    return {
      requests: this.#requests?.allowedCount ?? null,
      tokens: this.#tokens?.allowedCount ?? null,
    };
  }

  /** Brings the buckets to a time, by way of the change of the limit and the ends of windows. */
  #advance(toMs: number): void {
    const changeMs = (this.#limit.change?.afterSeconds ?? Infinity) * 1000;
    while (this.#elapsedMs < toMs) {
      const isBeforeChange = this.#elapsedMs < changeMs;
      const nextMs = Math.min(toMs, this.#windows.endMs, isBeforeChange ? changeMs : Infinity);
      this.#requests?.refill(nextMs - this.#elapsedMs);
      this.#tokens?.refill(nextMs - this.#elapsedMs);
      this.#elapsedMs = nextMs;
      if (nextMs >= changeMs) this.#change();
      if (nextMs === this.#windows.endMs) this.#windows.next(this.#allowed);
    }
  }

  #change(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    const { requestsPerMinute, tokensPerMinute, maxConcurrency } = this.#limit.change ?? {};
    if (requestsPerMinute !== undefined) this.#requests?.change(requestsPerMinute);
    if (tokensPerMinute !== undefined) this.#tokens?.change(tokensPerMinute);
    this.#maxConcurrency = maxConcurrency ?? this.#maxConcurrency;
  }
}
