/**
 * Deletes the records of groups from the store that the ledger writes them to.
 *
 * **Idempotency.** Every method can be repeated, and finds what is left.
 * **Leases.** A worker keeps a cell that it holds: its record stays until the lease has ended.
 */
export interface GroupRecords {
  /**
   * Deletes the records of a config in a run: cells, calls, submissions, tallies and, where the store has them, tasks.
   *
   * @returns How many cells are left because a worker holds them.
   */
  deleteRecords(run: string, config: string): Promise<number>;
  /** Deletes what the cells of a run share: which of them has bought a call. Their calls are records of their configs. */
  deleteResponseCache(run: string): Promise<void>;
  /** Deletes the header of a group, which then does not exist. */
  deleteHeader(group: string): Promise<void>;
}
