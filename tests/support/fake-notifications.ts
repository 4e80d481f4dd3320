import type { Notification, Notifications, ThriceError, Webhook } from '@thrice/core';

/** Notifications in memory. */
export class FakeNotifications implements Notifications {
  readonly #recorded = new Map<string, Notification>();
  readonly #settled = new Set<string>();

  async record(notification: Notification): Promise<boolean> {
    const name = nameOf(notification);
    if (this.#recorded.has(name)) return false;
    this.#recorded.set(name, notification);
    return true;
  }

  async listUnsent(): Promise<readonly Notification[]> {
    return [...this.#recorded].flatMap(([name, notification]) =>
      this.#settled.has(name) ? [] : [notification],
    );
  }

  async noteFailure(notification: Notification): Promise<void> {
    const name = nameOf(notification);
    if (this.#recorded.has(name) && !this.#settled.has(name))
      this.#recorded.set(name, notification);
  }

  async settle(notification: Notification): Promise<void> {
    this.#settled.add(nameOf(notification));
  }
}

function nameOf({ group, key }: Notification): string {
  return `${group}\n${key}`;
}

/** A webhook that keeps what it is told. */
export class FakeWebhook implements Webhook {
  readonly told: Notification[] = [];
  /** What the next messages meet; nothing once it is empty. */
  readonly failures: ThriceError[] = [];

  async send(notification: Notification): Promise<void> {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    this.told.push(notification);
  }
}
