import type { CellStep, JournalEntry } from '../domain/call.ts';

/** A call that several cells may ask for. */
export interface PooledCall {
  /** The run whose cells share it. */
  readonly run: string;
  /** What is asked; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Which of the answers to it, from 0. */
  readonly sample: number;
}

/** A call that is paid for. */
export interface Purchase {
  /** The step whose journal entry it is. */
  readonly buyer: CellStep;
  readonly entry: JournalEntry;
}

/** The outcome of a claim for a call. */
export type PoolClaim =
  /** The caller is the one to buy it. */
  | { readonly kind: 'granted' }
  | ({ readonly kind: 'bought' } & Purchase)
  /** Another cell is about to buy it, since this instant, ms since 1970. */
  | { readonly kind: 'held'; readonly sinceMs: number };

/**
 * Finds the calls that cells have in common in their journals, and decides which of the cells buys one.
 *
 * The pool refers to journals and copies nothing. A call is bought once the journal of its buyer answers the step.
 *
 * **Delivery.** Once a method resolves, its change is durable and visible to every process.
 * **Idempotency.** A buyer that claims its call again is granted it again, and nobody else.
 * **Leases.** A claim holds for as long as its buyer's cell is claimed and its lease lives. A call whose buyer has
 * released or completed the cell, or died, without buying it goes to the next claim.
 * **Limits.** Every write changes one item under one condition: of claims at the same instant, one is granted.
 */
export interface CallPool {
  /** @param buyer - A step of a cell that the caller holds. */
  claimCall(call: PooledCall, buyer: CellStep): Promise<PoolClaim>;
}
