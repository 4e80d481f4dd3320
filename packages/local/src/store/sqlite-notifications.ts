import type { DatabaseSync } from 'node:sqlite';
import { type Notification, type Notifications, notificationSchema } from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import { readStored } from './read-stored.ts';
import { prepareStatements, type Statements } from './sqlite-store.ts';

/** The notifications of groups in a SQLite file. */
export class SqliteNotifications implements Notifications {
  readonly #commit: GroupCommit;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, commit: GroupCommit) {
    this.#commit = commit;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  async record(notification: Notification): Promise<boolean> {
    const { group, key } = notification;
    const text = JSON.stringify(notification);
    const { changes } = await this.#commit.write(() => this.#sql.insert.run(group, key, text));
    return Number(changes) === 1;
  }

  async listUnsent(): Promise<readonly Notification[]> {
    return this.#sql.list
      .all()
      .map(({ notification }) => readStored(notificationSchema, notification, 'a notification'));
  }

  async noteFailure(notification: Notification): Promise<void> {
    const { group, key } = notification;
    await this.#commit.write(() => this.#sql.replace.run(JSON.stringify(notification), group, key));
  }

  async settle({ group, key }: Notification): Promise<void> {
    await this.#commit.write(() => this.#sql.settle.run(group, key));
  }
}

const STATEMENTS = {
  insert: 'INSERT OR IGNORE INTO notifications VALUES (?, ?, 1, ?)',
  list: 'SELECT notification FROM notifications WHERE is_unsent = 1',
  replace:
    'UPDATE notifications SET notification = ? WHERE group_name = ? AND key = ? AND is_unsent = 1',
  settle: 'UPDATE notifications SET is_unsent = 0 WHERE group_name = ? AND key = ?',
} as const;
