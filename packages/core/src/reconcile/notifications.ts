import { backoffMs } from '../cells/backoff.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Notification } from '../domain/notification.ts';
import { type ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Notifications } from '../ports/notifications.ts';
import type { Webhook } from '../ports/webhook.ts';
import { type CommandPlace, describeEvent, type GroupEvent } from './describe-event.ts';

/** What sending needs. */
export interface NotificationStores {
  readonly notifications: Notifications;
  readonly webhook: Webhook;
  readonly clock: Clock;
}

/** What became of a notification. */
export type SentOrNot =
  | { readonly kind: 'sent' }
  /** It is tried again later. */
  | { readonly kind: 'failed'; readonly error: ThriceError }
  | { readonly kind: 'given-up'; readonly error: ThriceError };

/**
 * Records an event that the group's `[notify]` asks for. Sending is another matter, so that what records an event never
 * waits for a webhook.
 *
 * @returns The notification, if this call has recorded it; undefined if it was recorded before or is not asked for.
 */
export async function recordEvent(
  header: GroupHeader,
  event: GroupEvent,
  {
    notifications,
    clock,
    flag,
  }: Pick<NotificationStores, 'notifications' | 'clock'> & Pick<CommandPlace, 'flag'>,
): Promise<Notification | undefined> {
  const { notify } = header.spec;
  if (notify === undefined || !notify.on.includes(event.kind)) return undefined;
  const { key, text, facts } = describeEvent(event, { header, flag });
  const notification = {
    schemaVersion: 1 as const,
    group: header.group,
    key,
    event: event.kind,
    at: clock.toIso(clock.now()),
    text: `${header.group}: ${text}`,
    facts,
    webhookEnv: notify.webhook_env,
    secretEnv: notify.secret_env ?? null,
    failureCount: 0,
    dueAt: null,
  };
  return (await notifications.record(notification)) ? notification : undefined;
}

/** Sends a notification once, and settles it unless another attempt may help. */
export async function sendNotification(
  notification: Notification,
  { notifications, webhook, clock }: NotificationStores,
): Promise<SentOrNot> {
  try {
    await webhook.send(notification);
  } catch (thrown) {
    const error = toThriceError(thrown);
    const failureCount = notification.failureCount + 1;
    const isFinal = error.code === 'webhook-refused' || failureCount >= limits.webhookAttempts;
    if (isFinal) await notifications.settle(notification);
    else {
      const dueAt = clock.toIso(clock.now() + waitMs(failureCount));
      await notifications.noteFailure({ ...notification, failureCount, dueAt });
    }
    return { kind: isFinal ? 'given-up' : 'failed', error };
  }
  await notifications.settle(notification);
  return { kind: 'sent' };
}

function waitMs(failureCount: number): number {
  const { webhookBackoffBaseMs: baseMs, webhookBackoffCapMs: capMs } = limits;
  return backoffMs(failureCount, { baseMs, capMs, random: () => 0.5 });
}

/** Whether a notification may be sent: at once at first, and after each failure later. */
export function isSendingDue({ dueAt }: Notification, clock: Clock): boolean {
  if (dueAt === null) return true;
  const nowMs = clock.now();
  // The clock may have been set back since.
  const latest = clock.toIso(nowMs + limits.webhookBackoffCapMs);
  return dueAt <= clock.toIso(nowMs) || dueAt > latest;
}
