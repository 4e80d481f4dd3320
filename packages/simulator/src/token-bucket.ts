/**
 * A limit per minute that is refilled continuously, up to what it allows in its burst.
 *
 * @see https://docs.claude.com/en/api/rate-limits (2026-11): "the token bucket algorithm ... continuously replenished"
 */
export class TokenBucket {
  readonly #burstSeconds: number;
  #perMinute: number;
  #level: number;
  #allowedCount = 0;

  /** A full bucket. */
  constructor(init: { readonly perMinute: number; readonly burstSeconds: number }) {
    this.#burstSeconds = init.burstSeconds;
    this.#perMinute = init.perMinute;
    this.#level = this.#capacity;
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  get level(): number {
    return this.#level;
  }

  /** What was allowed since the start, without the burst. */
  get allowedCount(): number {
    return this.#allowedCount;
  }

  get #capacity(): number {
    return (this.#perMinute * this.#burstSeconds) / 60;
  }

  change(perMinute: number): void {
    this.#perMinute = perMinute;
    this.#level = Math.min(this.#level, this.#capacity);
  }

  refill(ms: number): void {
    const count = (this.#perMinute * ms) / 60_000;
    this.#allowedCount += count;
    this.#level = Math.min(this.#capacity, this.#level + count);
  }

  take(count: number): void {
    this.#level -= count;
  }

  /** Until so much may be taken, ms. What is more than the bucket holds may be taken when it is full. */
  msUntil(count: number): number {
    return this.#msUntilLevel(Math.min(count, this.#capacity));
  }

  msUntilFull(): number {
    return this.#msUntilLevel(this.#capacity);
  }

  #msUntilLevel(level: number): number {
    // Refills of fractions add up to slightly less than the whole.
    const missing = level - this.#level - 1e-9;
    return missing <= 0 ? 0 : (missing / this.#perMinute) * 60_000;
  }
}
