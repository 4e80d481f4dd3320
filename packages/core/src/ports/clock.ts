/** Time, so that the domain has none of its own. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** An instant as it is stored: ISO-8601 UTC with milliseconds. */
  toIso(atMs: number): string;
  /** Resolves after `delayMs` (>= 0), or at once when `signal` aborts; it never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}
