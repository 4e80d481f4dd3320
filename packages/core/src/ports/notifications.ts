import type { Notification } from '../domain/notification.ts';

/**
 * The notifications of groups, each from its event until it has been sent or given up.
 *
 * **Delivery.** Once `record` or `settle` resolves, what it did is durable and visible to every process. A notification
 * is listed from then on until it is settled: a crash can have it sent twice, but never not at all.
 * **Idempotency.** Every method can be repeated. A notification is recorded once per group and key, also after it was
 * settled.
 */
export interface Notifications {
  /**
   * Records a notification, unless one with its group and key was recorded before.
   *
   * @returns Whether this call has recorded it: of several, one.
   */
  record(notification: Notification): Promise<boolean>;
  /** Lists the notifications that are not settled, of all groups, in no guaranteed order. */
  listUnsent(): Promise<readonly Notification[]>;
  /** Replaces an unsent notification after a failure to send it. Has no effect on a settled one. */
  noteFailure(notification: Notification): Promise<void>;
  /** Takes a notification off the list, because it was sent or is given up. */
  settle(notification: Notification): Promise<void>;
}
