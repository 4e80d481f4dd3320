import type { DispatchRequest, ResultRequest } from '../domain/group-request.ts';

/**
 * Requests work on a whole group, which another process performs.
 *
 * **Delivery.** At least once. Serving a request twice has the same effect as serving it once.
 */
export interface GroupRequests {
  /** Requests that a group's tasks be sent. */
  requestDispatch(request: DispatchRequest): Promise<void>;
  /** Requests that a group's results be written. */
  requestResults(request: ResultRequest): Promise<void>;
  /** Counts the dispatch requests that are waiting or being served. May lag by a minute. */
  countDispatchRequests(): Promise<number>;
}
