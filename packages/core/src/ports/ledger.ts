import type { OpenBreaker } from '../domain/breaker.ts';
import type { JournalEntry } from '../domain/call.ts';
import type { Attempt, CellKey, CellRecord, CellResult, Outcome } from '../domain/cell.ts';
import type { GroupHeader, GroupState } from '../domain/group.ts';

/** What a claim found. */
export type Claim =
  /** Ours until the lease ends. `isFirst`: nobody held it before, so its journal is empty. */
  | { readonly kind: 'claimed'; readonly cell: CellRecord; readonly isFirst: boolean }
  /** It has its result; the task can be acknowledged. */
  | { readonly kind: 'done' }
  /** A live lease, be it the caller's own: its task may have come twice. It can be left to come back. */
  | { readonly kind: 'held' };

/**
 * Results of one config in one run, counted as they came in: a hint, which a crash or a failing store
 * may leave wrong; the records are the truth.
 */
export interface Tally {
  readonly run: string;
  readonly config: string;
  readonly counts: Readonly<Record<Exclude<Outcome, 'not-attempted'>, number>>;
  /** Cells with score 1. */
  readonly correct: number;
  /** Sum of the known costs, USD. */
  readonly costUsd: number;
  /** Tries beyond the first of each cell. */
  readonly retries: number;
}

/** A group with its state. */
export interface GroupRecord {
  readonly header: GroupHeader;
  readonly state: GroupState;
  /** Whether all of its tasks have been sent; if not, `enqueueGroup` completes them. */
  readonly isPlanned: boolean;
}

/**
 * The store of groups, cells, calls and open breakers.
 *
 * **Delivery.** A method that resolves has made its change durable and visible to every process.
 * **Idempotency.** Each method may be repeated after a crash: the second call finds the first one's
 * work and changes nothing (`commitCall`, `completeCell`, `createGroup` say how).
 * **Leases.** An owner holds a cell from its claim until it releases or completes it or another owner
 * claims it: a lease that has ended is only free to be taken.
 * **Limits.** Every write touches one item under one condition; there are no transactions.
 */
export interface Ledger {
  /**
   * Enters a group, not yet planned.
   *
   * @param state - @default active
   * @throws {ThriceError} `already-exists`, with nothing changed, when the group is there.
   */
  createGroup(header: GroupHeader, state?: GroupState): Promise<void>;
  readGroup(group: string): Promise<GroupRecord | undefined>;
  /** Newest first by `createdAt`; in no promised order where that is equal. */
  listGroups(): Promise<readonly GroupRecord[]>;
  /** Without effect when there is no such group. */
  markPlanned(group: string): Promise<void>;
  /** Without effect when there is no such group. */
  setGroupState(group: string, state: GroupState): Promise<void>;

  /**
   * Takes the lease of a cell for `limits.leaseMs`.
   *
   * Succeeds when nobody holds it, when its lease has ended, or when it is done without a score
   * in an earlier generation: then attempts start at 0 and its result is forgotten and taken out of the
   * tally, its journal and attempts kept. A lease that ended without being given back was an attempt: its
   * worker died over the cell. A cell takes on the latest generation it was claimed in.
   */
  claimCell(key: CellKey, generation: number, owner: string): Promise<Claim>;
  /**
   * Extends leases that `owner` still holds to `limits.leaseMs` from now.
   *
   * @returns The keys it does not hold, whatever the reason.
   */
  extendLeases(keys: readonly CellKey[], owner: string): Promise<readonly CellKey[]>;
  /**
   * Gives a cell back unfinished, remembering what happened.
   *
   * Without effect when `owner` does not hold it.
   *
   * @param attempts - Added to those known already; the last `limits.attemptLogLength` of all are kept.
   * @param attempts - Replaces the number known already.
   */
  releaseCell(
    key: CellKey,
    owner: string,
    attemptLog: readonly Attempt[],
    attempts: number,
  ): Promise<void>;
  /**
   * Writes a call into the journal unless its step is there already; asks for no lease, so that
   * what was paid for is never lost.
   *
   * @returns The entry that stands: the given one, or the one that came first.
   */
  commitCall(key: CellKey, entry: JournalEntry): Promise<JournalEntry>;
  /** The journal of a cell, by step. */
  readJournal(key: CellKey): Promise<ReadonlyMap<string, JournalEntry>>;
  /**
   * Writes the result, once.
   *
   * @returns False, with nothing changed, when `owner` does not hold the lease or the cell is done.
   */
  completeCell(
    key: CellKey,
    owner: string,
    result: CellResult,
    attemptLog: readonly Attempt[],
  ): Promise<boolean>;
  /** Cells by id; ids nobody has claimed are absent. At most `limits.pageSize` ids. */
  readCells(
    run: string,
    config: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CellRecord>>;
  /** A config without a result is absent, or there with every number 0. */
  readTallies(run: string): Promise<readonly Tally[]>;
  /**
   * Puts a tally in the place of another, to repair one that a crash left short.
   *
   * @param standing - The tally as `readTallies` gave it; undefined if it gave none.
   * @returns Whether the given one stands there now; if not, a third does, and nothing is changed.
   */
  replaceTally(existing: Tally | undefined, tally: Tally): Promise<boolean>;

  /** Closes a lane or model; an open breaker of the same subject is replaced. */
  openBreaker(breaker: OpenBreaker): Promise<void>;
  /** Without effect when the subject is not closed. */
  closeBreaker(breakerKey: string): Promise<void>;
  listOpenBreakers(): Promise<readonly OpenBreaker[]>;
}
