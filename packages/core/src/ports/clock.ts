/** The domain's only source of time. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /**
   * Milliseconds since an arbitrary start of this process, >= 0, with fractions. Never goes back: for durations,
   * which must not change when the wall clock is set.
   */
  monotonicMs(): number;
  /** Formats an instant the way it is stored: ISO-8601 UTC with milliseconds. */
  toIso(atMs: number): string;
  /** Resolves after `delayMs` (>= 0), or as soon as `signal` aborts. Never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}
