import type { Notifications } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aNotification } from '../support/builders.ts';

/** A fresh store without a notification. */
export interface NotificationsUnderTest extends AsyncDisposable {
  readonly notifications: Notifications;
  /** The same store, accessed by another process. */
  readonly other: Notifications;
}

/** Tests every promise of the `Notifications` port. */
export function describeNotificationsContract(
  name: string,
  open: () => Promise<NotificationsUnderTest>,
): void {
  describe(`Notifications contract: ${name}`, () => {
    it('lists a notification to every process until it is settled', async () => {
      await using store = await open();
      const [sent, unsent] = [aNotification(), aNotification({ group: 'other#1' })];

      await store.notifications.record(sent);
      await store.notifications.record(unsent);
      const before = await store.other.listUnsent();
      await store.other.settle(sent);

      expect(before).toHaveLength(2);
      expect(before).toEqual(expect.arrayContaining([sent, unsent]));
      expect(await store.notifications.listUnsent()).toEqual([unsent]);
    });

    it('records a notification once per group and key, also after it was settled', async () => {
      await using store = await open();
      const first = aNotification();
      const again = aNotification({ text: 'again', at: '2026-11-21T00:00:00.000Z' });

      const recorded = [await store.notifications.record(first), await store.other.record(again)];
      const unsent = await store.other.listUnsent();
      await store.other.settle(first);
      recorded.push(await store.notifications.record(again));

      expect(recorded).toEqual([true, false, false]);
      expect(unsent).toEqual([first]);
      expect(await store.other.listUnsent()).toEqual([]);
    });

    it('replaces an unsent notification after a failure, and no settled one', async () => {
      await using store = await open();
      const failed = aNotification({ failureCount: 1, dueAt: '2026-11-20T10:16:00.000Z' });

      await store.notifications.record(aNotification());
      await store.notifications.noteFailure(failed);
      const unsent = await store.other.listUnsent();
      await store.other.settle(failed);
      await store.notifications.noteFailure(failed);

      expect(unsent).toEqual([failed]);
      expect(await store.other.listUnsent()).toEqual([]);
    });

    it('settles twice without harm', async () => {
      await using store = await open();

      await store.notifications.record(aNotification());
      await store.notifications.settle(aNotification());
      await store.notifications.settle(aNotification());

      expect(await store.notifications.listUnsent()).toEqual([]);
    });
  });
}
