import type { DlqEntry } from '../domain/dlq-entry.ts';

/**
 * One look through all DLQ messages.
 *
 * **Delivery.** What is handed out is hidden from others until it is removed or the scan is disposed of,
 * which gives back what was not removed. What a killed process had in flight comes back by itself in
 * minutes. Two scans at once see a part each.
 * **Idempotency.** Removing twice is removing once.
 * **Limits.** Messages that are sent while the scan goes on may be among those handed out, or not.
 */
export interface DlqScan extends AsyncDisposable {
  /**
   * Hands everything out, each message once; to be called once.
   *
   * @param stop - Ends the scan before its next page.
   */
  pages(stop: AbortSignal): AsyncIterable<readonly DlqEntry[]>;
  /** Removes messages that were handed out, for good. */
  remove(entries: readonly DlqEntry[]): Promise<void>;
  /**
   * How many messages there were beyond those handed out, once all pages are: in the hands of others, or
   * of a command that was killed. By a count that may lag by a minute.
   */
  readonly unseenCount: number;
}
