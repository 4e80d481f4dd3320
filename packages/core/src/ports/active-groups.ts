/** A group whose results are not written yet, or are out of date. */
export interface ActiveGroup {
  readonly group: string;
  /** Tells this watch from a later one of the same group. */
  readonly token: string;
}

/** The cells of a group that wait for a lane or model to open again; their tasks are in no queue. */
export interface DeferredCells {
  /** `lane` or `lane/model`. */
  readonly breakerKey: string;
  readonly group: string;
  /** Tells this deferral from a later one of the same. */
  readonly token: string;
}

/**
 * What the reconciler looks after: groups whose results are not written yet, and deferred cells.
 *
 * **Idempotency.** Each method may be repeated.
 */
export interface ActiveGroups {
  /** Puts a group on the list, or on it anew: something of it has changed. */
  add(group: string): Promise<void>;
  /** Without effect when the group was watched anew meanwhile: its token is another. */
  remove(activeGroup: ActiveGroup): Promise<void>;
  /** Each group once, in no promised order. */
  list(): Promise<readonly ActiveGroup[]>;
  /** Notes that cells of a group wait for a subject; as often as there are such cells. */
  defer(breakerKey: string, group: string): Promise<void>;
  /** Each subject and group once, in no promised order. */
  listDeferred(): Promise<readonly DeferredCells[]>;
  /** Without effect when more was deferred meanwhile: its token is another. */
  removeDeferred(deferred: DeferredCells): Promise<void>;
}
