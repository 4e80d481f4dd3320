import { ThriceError } from '@thrice/core';
import { LocalEngine } from '@thrice/local';
import { expect, it } from 'vitest';
import { Notifier } from '../../../packages/cli/src/local/notifier.ts';
import { aGroupHeader } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeNotifications, FakeWebhook } from '../../support/fake-notifications.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Notifications that nothing can be recorded in. */
class FullNotifications extends FakeNotifications {
  override record(): Promise<boolean> {
    return Promise.reject(new ThriceError({ code: 'store-unavailable', message: 'disk full' }));
  }
}

it('shows the code of an error that keeps a notification from being recorded', async () => {
  await using folder = await temporaryFolder();
  const clock = new FakeClock();
  using engine = new LocalEngine(folder.path, clock);
  const { ledger, workers } = engine;
  const { spec, ...header } = aGroupHeader();
  const notes: string[] = [];
  const notifier = new Notifier({
    header: { ...header, spec: { ...spec, notify: { webhook_env: 'HOOK', on: ['end'] } } },
    engine: { ledger, workers, clock, notifications: new FullNotifications() },
    webhook: new FakeWebhook(),
    note: (text) => notes.push(text),
    flag: '',
    stopSignal: new AbortController().signal,
  });

  await notifier.end({ kind: 'complete' });

  expect(notes).toEqual(['warning: [store-unavailable] not told the webhook: disk full']);
});
