import { limits, type Notification, ThriceError, type Webhook } from '@thrice/core';
import { LocalEngine } from '@thrice/local';
import { expect, it } from 'vitest';
import { Notifier } from '../../../packages/cli/src/local/notifier.ts';
import { aGroupHeader, anError, anOpenBreaker } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeNotifications, FakeWebhook } from '../../support/fake-notifications.ts';
import { settledBy } from '../../support/settled-by.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Notifications that nothing can be recorded in. */
class FullNotifications extends FakeNotifications {
  override record(): Promise<boolean> {
    return Promise.reject(new ThriceError({ code: 'store-unavailable', message: 'disk full' }));
  }
}

/** A webhook that takes a connection and never answers. */
class SilentWebhook implements Webhook {
  readonly asked: Notification[] = [];
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async send(notification: Notification): Promise<void> {
    this.asked.push(notification);
    await new Promise((_, reject) => {
      this.#signal.addEventListener('abort', () => reject(anError('webhook-unavailable')));
    });
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
    openWebhook: () => new FakeWebhook(),
    note: (text) => notes.push(text),
    flag: '',
    stopSignal: new AbortController().signal,
  });

  await notifier.end({ kind: 'complete' });

  expect(notes).toEqual(['warning: [store-unavailable] not told the webhook: disk full']);
});

it('is delayed at the end by one attempt to tell a webhook that never answers, and loses nothing', async () => {
  const clock = new FakeClock();
  const notifications = new FakeNotifications();
  const { spec } = aGroupHeader();
  const notify = { webhook_env: 'HOOK', on: ['end', 'pause', 'failure', 'budget'] as const };
  const header = aGroupHeader({ spec: { ...spec, notify: { ...notify, on: [...notify.on] } } });
  const notes: string[] = [];
  const notifier = new Notifier({
    header,
    engine: {
      ledger: new FakeLedger(clock),
      notifications,
      workers: { countOthers: () => 0 },
      clock,
    },
    openWebhook: (signal) => new SilentWebhook(signal),
    note: (text) => notes.push(text),
    flag: '',
    stopSignal: new AbortController().signal,
  });
  const breaker = anOpenBreaker();
  const waits = [{ breakerKey: breaker.breakerKey, until: '', reason: 'no quota' }];

  notifier.observe({ kind: 'lanes-waiting', waits, areAllWaiting: true });
  const ending = notifier.end({ kind: 'complete' });
  const startedMs = clock.monotonicMs();
  while (!(await settledBy(ending))) clock.advance(Math.min(100, clock.nextDueInMs ?? 0));

  expect(clock.monotonicMs() - startedMs).toBe(limits.webhookTimeoutMs);
  const unsent = await notifications.listUnsent();
  expect(unsent.map(({ event }) => event)).toEqual(['pause', 'end']);
  const warning = (event: string) =>
    `warning: [webhook-unavailable] not told the webhook of ${event}: no answer within 10 s of the end; the next work on the group sends it again`;
  expect(notes).toEqual([warning('pause'), warning('end')]);
});
