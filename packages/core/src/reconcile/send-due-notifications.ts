import { mapBounded } from '../map-bounded.ts';
import { isSendingDue, type NotificationStores, sendNotification } from './notifications.ts';

/** Notifications that are sent concurrently. */
const AT_ONCE = 8;

/** What became of a notification in a round, for the log. */
export interface NotificationReport {
  readonly kind: 'notification-sent' | 'notification-failed' | 'notification-given-up';
  readonly group: string;
  readonly event: string;
  /** Null for one that was sent. */
  readonly error: string | null;
}

/** Sends the notifications of all groups that are due, each once. */
export async function sendDueNotifications(
  stores: NotificationStores,
  observe: (report: NotificationReport) => void,
  isOutOfTime: () => boolean,
): Promise<void> {
  const unsent = await stores.notifications.listUnsent();
  const due = unsent.filter((notification) => isSendingDue(notification, stores.clock));
  await mapBounded(due, AT_ONCE, async (notification) => {
    if (isOutOfTime()) return;
    const outcome = await sendNotification(notification, stores);
    const { group, event } = notification;
    const error =
      outcome.kind === 'sent' ? null : `[${outcome.error.code}] ${outcome.error.message}`;
    observe({ kind: `notification-${outcome.kind}`, group, event, error });
  });
}
