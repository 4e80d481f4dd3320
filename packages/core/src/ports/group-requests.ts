import type { DispatchRequest } from '../domain/group-request.ts';

/**
 * Asks for work on a whole group, which others do.
 *
 * **Delivery.** At least once; a request served twice has the effect of one.
 */
export interface GroupRequests {
  requestDispatch(request: DispatchRequest): Promise<void>;
  /**
   * Asks for the results of a group to be written.
   *
   * @param isHalted - It stands still: what is missing is to be sent. @default false
   */
  requestResults(group: string, isHalted?: boolean): Promise<void>;
  /** Requests for tasks that are waiting or being served; a count that may lag by a minute. */
  countDispatchRequests(): Promise<number>;
}

/** Counts what a queue holds. */
export interface TaskCounter {
  /** Tasks of a lane that are waiting, delayed or in flight; a count that may lag by a minute. */
  countTasks(lane: string): Promise<number>;
}
