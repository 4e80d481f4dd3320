/** What a bucket that is not used gathers: calls, or ms of its rate. More would be refused at once. */
const BURST_CALLS = 3;
const BURST_MS = 500;
const MINUTE_MS = 60_000;

/**
 * A token bucket: what a process may use of a rate, by monotonic time.
 *
 * A use of more than it ever holds is granted when it is full, and leaves it in debt.
 */
export class PermitBucket {
  readonly #startRatio: number;
  #perMinute: number | null = null;
  /** What the call that was asked for last uses, and the largest of late. */
  #amount = 1;
  #largestAmount = 1;
  #level = 0;
  #filledAtMs = 0;

  /** @param startRatio - Of a call that it holds at first, 0..1: many processes should not call at the same time. */
  constructor(startRatio: number) {
    this.#startRatio = startRatio;
  }

  /**
   * @param perMinute - Null without a limit.
   * @param amount - What a call uses.
   */
  fill(perMinute: number | null, amount: number, nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#filledAtMs);
    const isNew = this.#perMinute === null;
    const gained = (elapsedMs * (this.#perMinute ?? 0)) / MINUTE_MS;
    this.#filledAtMs = nowMs;
    this.#perMinute = perMinute;
    this.#amount = amount;
    this.#largestAmount = Math.max(0.999 * this.#largestAmount, amount);
    const burst = BURST_CALLS * this.#largestAmount;
    const capacity = Math.max(burst, ((perMinute ?? 0) * BURST_MS) / MINUTE_MS);
    this.#level = isNew ? this.#startRatio * amount : Math.min(capacity, this.#level + gained);
  }

  /** How long until a call may be made, ms after the last filling. */
  get waitMs(): number {
    if (this.#perMinute === null) return 0;
    const missing = this.#amount - this.#level;
    return missing <= 1e-9 ? 0 : (missing * MINUTE_MS) / this.#perMinute;
  }

  /** The time between two calls, ms; 0 without a limit. */
  get intervalMs(): number {
    return this.#perMinute === null ? 0 : (this.#amount * MINUTE_MS) / this.#perMinute;
  }

  /** @param amount - Less than 0 to give back what was reserved in vain. */
  use(amount: number): void {
    if (this.#perMinute !== null) this.#level -= amount;
  }
}
