import { seededRandom } from '@thrice/core';
import type { BatchRow, RowAnswer } from './answer-row.ts';
import type { Batching } from './load-batching.ts';

/** Shares of the time of a batch until its requests are worked on, and until all of them are. */
const STARTED_RATIO = 0.1;
const FINISHED_RATIO = 0.9;

/** Where a batch is; OpenAI has a name for each of them. */
export type BatchPhase =
  | 'validating'
  | 'in_progress'
  | 'finalizing'
  | 'ended'
  | 'cancelling'
  | 'cancelled';

/** What a batch is made of. */
interface BatchWorkInit {
  readonly rows: readonly BatchRow[];
  readonly seed: number;
  readonly batching: Batching;
  readonly startedMs: number;
  readonly answer: (row: BatchRow, hasFailed: boolean) => RowAnswer;
}

/**
 * The work on one batch, as far as the clock says that it has come.
 *
 * validating --time--> in_progress --time--> finalizing --time--> ended; any but ended --cancel--> cancelling --time-->
 * cancelled
 *
 * Requests are worked on in an order of their own, which is not the one they came in.
 */
export class BatchWork {
  readonly #init: BatchWorkInit;
  /** In the order they are worked on. */
  readonly #rows: readonly BatchRow[];
  readonly #durationMs: number;
  readonly #answers: RowAnswer[] = [];
  readonly #expired: BatchRow[] = [];
  #workedCount = 0;
  #cancelledMs: number | undefined;

  constructor(init: BatchWorkInit) {
    this.#init = init;
    this.#durationMs = (init.batching.seconds ?? 0) * 1000;
    this.#rows = shuffle(init.rows, init.seed);
  }

  get totalCount(): number {
    return this.#rows.length;
  }

  /** In the order in which they ended. */
  get answers(): readonly RowAnswer[] {
    return this.#answers;
  }

  /** Requests that nothing was done for in time. */
  get expired(): readonly BatchRow[] {
    return this.#expired;
  }

  /** Requests that nothing was done for, after a cancellation. */
  get canceled(): readonly BatchRow[] {
    return this.#rows.slice(this.#workedCount);
  }

  /** When it was cancelled, ms since 1970; undefined if it was not. */
  get cancelledMs(): number | undefined {
    return this.#cancelledMs;
  }

  /** When it ended or will end, ms since 1970. */
  get endMs(): number {
    const { startedMs } = this.#init;
    return this.#cancelledMs === undefined
      ? startedMs + this.#durationMs
      : this.#cancelledMs + this.#durationMs * STARTED_RATIO;
  }

  /** Works on what is due. */
  phaseAt(nowMs: number): BatchPhase {
    const { startedMs } = this.#init;
    this.#advance((this.#cancelledMs ?? nowMs) - startedMs);
    const isOver = nowMs >= this.endMs;
    if (this.#cancelledMs !== undefined) return isOver ? 'cancelled' : 'cancelling';
    if (isOver) return 'ended';
    const ratio = (nowMs - startedMs) / this.#durationMs;
    if (ratio < STARTED_RATIO) return 'validating';
    return ratio < FINISHED_RATIO ? 'in_progress' : 'finalizing';
  }

  /** Stops the work. A batch that has ended stays as it is. */
  cancel(nowMs: number): void {
    const phase = this.phaseAt(nowMs);
    if (phase !== 'ended' && phase !== 'cancelled') this.#cancelledMs ??= nowMs;
  }

  #advance(elapsedMs: number): void {
    const { batching, seed, answer } = this.#init;
    const { errorRate = 0, expiryRate = 0 } = batching;
    const dueCount = this.#dueCount(elapsedMs);
    for (const row of this.#rows.slice(this.#workedCount, dueCount)) {
      const isDrawn = (name: string, rate: number) =>
        seededRandom(seed, name, row.customId)() < rate;
      if (isDrawn('expiry', expiryRate)) this.#expired.push(row);
      else this.#answers.push(answer(row, isDrawn('error', errorRate)));
    }
    this.#workedCount = Math.max(this.#workedCount, dueCount);
  }

  /** How many requests are worked on after this time. */
  #dueCount(elapsedMs: number): number {
    if (elapsedMs >= this.#durationMs) return this.#rows.length;
    const ratio = elapsedMs / this.#durationMs;
    const share = (ratio - STARTED_RATIO) / (FINISHED_RATIO - STARTED_RATIO);
    return Math.floor(Math.min(1, Math.max(0, share)) * this.#rows.length);
  }
}

/** Always the same other order. */
function shuffle(rows: readonly BatchRow[], seed: number): readonly BatchRow[] {
  const random = seededRandom(seed, 'order', rows.length);
  return rows
    .map((row) => ({ row, at: random() }))
    .sort((left, right) => left.at - right.at)
    .map(({ row }) => row);
}
