/** A granted slot; disposing of it gives it back, once. */
export interface Slot extends Disposable {
  /** How long the grant took, ms. */
  readonly waitMs: number;
}

/**
 * Grants the right to send one call on a lane; holds callers back while the lane is full.
 *
 * A slot is kept until the call is in the journal, so that a crash loses at most as many calls as
 * there are slots.
 */
export interface Governor {
  /** @throws {ThriceError} `interrupted`, holding nothing, when `signal` aborts first. */
  grant(lane: string, signal: AbortSignal): Promise<Slot>;
  /**
   * Hears that the vendor refused a call as one too many; when refusals follow each other without an
   * answer in between, the lane's grants are held back for everybody.
   *
   * @param retryAfterMs - What the vendor asks for; undefined where it asks for nothing.
   * @returns How long the refused cell is to wait, ms: what was asked for, else a backoff that grows with
   *   each hold.
   */
  slowDown(lane: string, retryAfterMs: number | undefined): number;
  /** Hears that the vendor answered: refusals are counted anew. */
  answered(lane: string): void;
}
