import type { Notification } from '../domain/notification.ts';

/**
 * Sends notifications to the webhook that they name.
 *
 * **Limits.** A notification is sent once per call; no redirect is followed. It resolves or rejects within seconds.
 */
export interface Webhook {
  /**
   * @throws {ThriceError} `webhook-unavailable` when another attempt may help; `webhook-refused` when none will: the URL
   *   is missing or wrong, or the server does not take the message. Neither quotes the URL or the secret.
   */
  send(notification: Notification): Promise<void>;
}
