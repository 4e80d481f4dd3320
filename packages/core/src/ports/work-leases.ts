/** Work on a whole group that goes in parts. */
export interface GroupWork {
  readonly group: string;
  /** What is done, such as `plan` or `results`. Each goes its own way. */
  readonly work: string;
}

/** The outcome of a claim. */
export type WorkClaim =
  | {
      readonly kind: 'claimed';
      /** What was saved last; undefined at the start of the work. */
      readonly checkpoint: string | undefined;
      /** Earlier claims since the last saved checkpoint: each of them failed, or its worker died. */
      readonly failureCount: number;
    }
  | HeldWork;

/** Another worker holds the work, or has failed and keeps its lease. */
export interface HeldWork {
  readonly kind: 'held';
  /** The request that it serves. */
  readonly requestId: string;
  /** Earlier claims since the last saved checkpoint. */
  readonly failureCount: number;
  /** How long its lease lasts from now, unless it extends it. */
  readonly leaseMs: number;
}

/**
 * Who works on a group, and how far the work has come: one part at a time of each kind of work.
 *
 * **Leases.** An owner holds the work from its claim until it releases or ends it, or another owner claims it once
 * the lease has expired. A lease lasts `workLeaseMs`, which grows with the failures in a row: a part that always
 * fails is tried less and less often. Each part has an owner of its own.
 * **Delivery.** Once a method resolves, its change is durable and visible to every process.
 * **Idempotency.** Every method can be repeated after a crash.
 * **Limits.** A checkpoint is a text of at most 1 KiB: larger ones go to a blob, and its key here.
 */
export interface WorkLeases {
  /**
   * Leases a part of the work.
   *
   * @param requestId - The request that `owner` serves.
   */
  claim(work: GroupWork, owner: string, requestId: string): Promise<WorkClaim>;
  /**
   * Extends the lease of `owner` to `leaseMs` from now.
   *
   * @returns Whether `owner` holds the work.
   */
  extend(work: GroupWork, owner: string, leaseMs: number): Promise<boolean>;
  /**
   * Saves how far the work has come, and extends the lease of `owner` to `limits.leaseMs` from now.
   *
   * @returns Whether `owner` holds the work. If not, nothing is changed.
   */
  save(work: GroupWork, owner: string, checkpoint: string): Promise<boolean>;
  /** Ends the lease, so that the next part can be claimed. Has no effect unless `owner` holds the work. */
  release(work: GroupWork, owner: string): Promise<void>;
  /** Forgets the work: the next claim starts it anew. Has no effect unless `owner` holds the work. */
  end(work: GroupWork, owner: string): Promise<void>;
  /** Forgets all work of a group, whoever holds it: each is started anew by the next claim. */
  endAll(group: string): Promise<void>;
  /**
   * Takes all work of a group from its owners for good: each notices when it next extends its lease or saves. The work
   * stays noted until the records of the group are deleted.
   *
   * @returns Whether a worker may still be writing: some work was neither released nor ended. True again for a repeated
   * call, because the first caller may have been killed before it waited. Leases do not matter: a slow worker, or the
   * clock of a command, may be off.
   */
  revokeAll(group: string): Promise<boolean>;
}
