import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Notification, type Notifications, notificationSchema } from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';

/** The notifications of groups in a SQLite file. */
export class SqliteNotifications implements Notifications {
  readonly #commit: GroupCommit;
  readonly #insert: StatementSync;
  readonly #list: StatementSync;
  readonly #replace: StatementSync;
  readonly #settle: StatementSync;

  constructor(database: DatabaseSync, commit: GroupCommit) {
    this.#commit = commit;
    this.#insert = database.prepare('INSERT OR IGNORE INTO notifications VALUES (?, ?, 1, ?)');
    this.#list = database.prepare('SELECT notification FROM notifications WHERE is_unsent = 1');
    this.#replace = database.prepare(
      'UPDATE notifications SET notification = ? WHERE group_name = ? AND key = ? AND is_unsent = 1',
    );
    this.#settle = database.prepare(
      'UPDATE notifications SET is_unsent = 0 WHERE group_name = ? AND key = ?',
    );
  }

  async record(notification: Notification): Promise<boolean> {
    const { group, key } = notification;
    const text = JSON.stringify(notification);
    const { changes } = await this.#commit.write(() => this.#insert.run(group, key, text));
    return Number(changes) === 1;
  }

  async listUnsent(): Promise<readonly Notification[]> {
    return this.#list
      .all()
      .map(({ notification }) => notificationSchema.parse(JSON.parse(String(notification))));
  }

  async noteFailure(notification: Notification): Promise<void> {
    const { group, key } = notification;
    await this.#commit.write(() => this.#replace.run(JSON.stringify(notification), group, key));
  }

  async settle({ group, key }: Notification): Promise<void> {
    await this.#commit.write(() => this.#settle.run(group, key));
  }
}
