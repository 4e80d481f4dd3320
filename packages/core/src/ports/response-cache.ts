import type { CellStep, JournalEntry } from '../domain/call.ts';

/** A call that several cells may ask for. */
export interface SharedCall {
  /** The run whose cells share it. */
  readonly run: string;
  /** The config that has it for itself; null where all configs of the run may take it. */
  readonly config: string | null;
  /** What is asked; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Which of the answers to it, from 0. */
  readonly sample: number;
}

/** A call that is paid for, and may be taken by others. */
export interface CachedResponse {
  /** The step whose journal entry it is. */
  readonly buyer: CellStep;
  readonly entry: JournalEntry;
}

/** A call in a journal that others may take. */
export interface CacheEntry {
  readonly call: SharedCall;
  readonly buyer: CellStep;
}

/** A call that answers a step, as the cache lists it. */
export interface ListedResponse
  extends Pick<SharedCall, 'fingerprint' | 'sample'>,
    Pick<CacheEntry, 'buyer'> {
  /** Where it stands in the list: a later listing may continue behind it. */
  readonly place: string;
}

/** The outcome of a claim for a call. */
export type CacheClaim =
  /** The caller is the one to buy it. */
  | { readonly kind: 'granted' }
  | ({ readonly kind: 'bought' } & CachedResponse)
  /** Another cell is about to buy it, since this instant, ms since 1970. */
  | { readonly kind: 'held'; readonly sinceMs: number };

/**
 * Finds the calls that cells have in common in their journals, and decides which of the cells buys one.
 *
 * The cache refers to journals and copies nothing. A call is bought once the journal of its buyer answers the step.
 *
 * **Delivery.** Once a method resolves, its change is durable and visible to every process.
 * **Idempotency.** A buyer that claims its call again is granted it again, and nobody else.
 * **Leases.** A claim holds for as long as its buyer's cell is claimed and its lease lives. A call whose buyer has
 * released or completed the cell, or died, without buying it goes to the next claim.
 * **Limits.** A claim changes one item under one condition: of claims at the same instant, one is granted.
 */
export interface ResponseCache {
  /** @param buyer - A step of a cell that the caller holds. */
  claimCall(call: SharedCall, buyer: CellStep): Promise<CacheClaim>;
  /**
   * Finds a call without a claim for it.
   *
   * @returns The first of the calls that is bought; undefined if none is.
   */
  findCall(calls: readonly SharedCall[]): Promise<CachedResponse | undefined>;
  /** Adds calls that are bought, at most twice `limits.pageSize`. One that is in the cache stays as it is. */
  addEntries(entries: readonly CacheEntry[]): Promise<void>;
  /**
   * Lists the calls that answer the steps of a config's cells in a run, in an order that stays. A call that is recorded
   * meanwhile may be left out.
   *
   * @param after - The place of a call that an earlier listing gave: only those behind it are listed. @default all
   */
  listResponses(run: string, config: string, after?: string): AsyncIterable<ListedResponse>;
}
