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
}
