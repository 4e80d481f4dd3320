/** A group whose results are not written yet, or are out of date. */
export interface Watched {
  readonly group: string;
  /** Tells this watch from a later one of the same group. */
  readonly token: string;
}

/** The cells of a group that wait for a lane or model to open again; their tasks are in no queue. */
export interface Parked {
  /** `lane` or `lane/model`. */
  readonly subject: string;
  readonly group: string;
  /** Tells this parking from a later one of the same. */
  readonly token: string;
}

/**
 * What the steward looks after: groups whose results are not written yet, and parked cells.
 *
 * **Idempotency.** Each method may be repeated.
 */
export interface Watchlist {
  /** Puts a group on the list, or on it anew: something of it has changed. */
  watch(group: string): Promise<void>;
  /** Without effect when the group was watched anew meanwhile: its token is another. */
  unwatch(watched: Watched): Promise<void>;
  /** Each group once, in no promised order. */
  listWatched(): Promise<readonly Watched[]>;
  /** Notes that cells of a group wait for a subject; as often as there are such cells. */
  park(subject: string, group: string): Promise<void>;
  /** Each subject and group once, in no promised order. */
  listParked(): Promise<readonly Parked[]>;
  /** Without effect when more was parked meanwhile: its token is another. */
  unpark(parked: Parked): Promise<void>;
}
