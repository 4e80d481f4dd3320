import { type Notification, type Notifications, notificationSchema } from '@thrice/core';
import {
  NOTIFICATIONS,
  notificationItemSchema,
  notificationListKey,
  notificationMarkKey,
  notificationMarkSchema,
  parseItem,
} from './dynamo-items.ts';
import { DynamoTable, type TableInit } from './dynamo-table.ts';

const SCHEMA_VERSION = 1;

/**
 * The notifications of groups: those that are unsent in one partition of the ledger's table, and beside the group a mark
 * of each that was ever recorded.
 *
 * unknown --listed--> listed --marked--> recorded --taken off the list--> sent --mark settled--> settled
 *
 * The list comes first and goes first: a crash in between has a notification sent twice, or leaves a mark that nobody
 * needs.
 */
export class DynamoNotifications implements Notifications {
  readonly #table: DynamoTable;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
  }

  async record(notification: Notification): Promise<boolean> {
    const markKey = notificationMarkKey(notification);
    // Most events are looked at more than once.
    if ((await this.#table.get(markKey)) !== undefined) return false;
    await this.#table.put(notificationListKey(notification), toItem(notification));
    const mark = { schemaVersion: SCHEMA_VERSION, isSettled: 0 };
    if (await this.#table.put(markKey, mark, 'absent')) return true;
    // Another has recorded it meanwhile, and it may have been sent since.
    const item = await this.#table.get(markKey);
    const isSettled =
      item !== undefined && parseItem(notificationMarkSchema, item, this.#table.name).isSettled;
    if (isSettled === 1) await this.#table.remove(notificationListKey(notification));
    return false;
  }

  async listUnsent(): Promise<readonly Notification[]> {
    const notifications: Notification[] = [];
    for await (const item of this.#table.query(NOTIFICATIONS, {})) {
      const { payload } = parseItem(notificationItemSchema, item, this.#table.name);
      notifications.push(notificationSchema.parse(JSON.parse(payload)));
    }
    return notifications;
  }

  async noteFailure(notification: Notification): Promise<void> {
    await this.#table.put(notificationListKey(notification), toItem(notification), 'present');
  }

  async settle(notification: Notification): Promise<void> {
    await this.#table.remove(notificationListKey(notification));
    const mark = { schemaVersion: SCHEMA_VERSION, isSettled: 1 };
    await this.#table.put(notificationMarkKey(notification), mark);
  }
}

function toItem(notification: Notification) {
  return { schemaVersion: SCHEMA_VERSION, payload: JSON.stringify(notification) };
}
