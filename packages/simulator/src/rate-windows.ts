/** The length of a window. */
const WINDOW_SECONDS = 10;

/** What a rate limit did in a window of ten seconds. */
export interface RateWindow {
  /** Since the first request. */
  readonly startSeconds: number;
  readonly admittedCount: number;
  readonly refusedCount: number;
  /** Of the admitted requests. */
  readonly admittedTokens: number;
  /** What the limit allowed in this window, as far as it has passed, without its burst; null if it bounds no requests. */
  readonly allowedRequests: number | null;
  /** The same of tokens. */
  readonly allowedTokens: number | null;
  /** How much of the limit was used, the scarcer of the two; null if it bounds neither. Above 1 with a burst. */
  readonly utilizationRatio: number | null;
  /** Admitted requests by run; those without a cell are not counted here. */
  readonly admittedByRun: Readonly<Record<string, number>>;
}

interface OpenWindow {
  admittedCount: number;
  refusedCount: number;
  admittedTokens: number;
  readonly admittedByRun: Map<string, number>;
  readonly allowedBefore: Allowed;
}

/** What a limit has allowed since the first request; null if it does not bound it. */
export interface Allowed {
  readonly requests: number | null;
  readonly tokens: number | null;
}

/** Collects the windows of a rate limit. Every call names the time that its limit has been brought to. */
export class RateWindows {
  readonly #closed: RateWindow[] = [];
  #open: OpenWindow;

  constructor(allowed: Allowed) {
    this.#open = openWindow(allowed);
  }

  /** When the present window ends, ms since the first request. */
  get endMs(): number {
    return (this.#closed.length + 1) * WINDOW_SECONDS * 1000;
  }

  /** Begins the next window. */
  next(allowed: Allowed): void {
    this.#closed.push(this.#describe(allowed));
    this.#open = openWindow(allowed);
  }

  admitted(tokens: number, run: string | undefined): void {
    const open = this.#open;
    open.admittedCount += 1;
    open.admittedTokens += tokens;
    if (run === undefined) return;
    open.admittedByRun.set(run, (open.admittedByRun.get(run) ?? 0) + 1);
  }

  refused(): void {
    this.#open.refusedCount += 1;
  }

  snapshot(allowed: Allowed): readonly RateWindow[] {
    return [...this.#closed, this.#describe(allowed)];
  }

  #describe(allowed: Allowed): RateWindow {
    const { admittedByRun, allowedBefore, ...counts } = this.#open;
    const allowedRequests = difference(allowed.requests, allowedBefore.requests);
    const allowedTokens = difference(allowed.tokens, allowedBefore.tokens);
    const ratios = [
      ratioOf(counts.admittedCount, allowedRequests),
      ratioOf(counts.admittedTokens, allowedTokens),
    ].filter((ratio) => ratio !== null);
    return {
      startSeconds: this.#closed.length * WINDOW_SECONDS,
      ...counts,
      allowedRequests,
      allowedTokens,
      utilizationRatio: ratios.length === 0 ? null : Math.max(...ratios),
      admittedByRun: Object.fromEntries(admittedByRun),
    };
  }
}

function openWindow(allowedBefore: Allowed): OpenWindow {
  const counts = { admittedCount: 0, refusedCount: 0, admittedTokens: 0 };
  return { ...counts, admittedByRun: new Map(), allowedBefore };
}

function difference(now: number | null, before: number | null): number | null {
  return now === null ? null : now - (before ?? 0);
}

function ratioOf(used: number, allowed: number | null): number | null {
  return allowed === null || allowed === 0 ? null : used / allowed;
}
