import {
  areManyFailed,
  type GroupEvent,
  limits,
  recordEvent,
  sendNotification,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { describeEvent } from '../../../packages/core/src/reconcile/describe-event.ts';
import { isSendingDue } from '../../../packages/core/src/reconcile/notifications.ts';
import { aGroupHeader, aNotification, anError } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeNotifications } from '../../support/fake-notifications.ts';

const place = { header: aGroupHeader({ group: 'demo' }), flag: ' --stage dev' };
const end: GroupEvent = {
  kind: 'end',
  ...{ cells: 10, scored: 7, unparsed: 1, ungraded: 0, failed: 2, costUsd: 1.5 },
};
const pause: GroupEvent = {
  kind: 'pause',
  ...{ cells: 10, done: 3, isWaiting: false },
  lanes: [{ breakerKey: 'lab', reason: '429 no quota', until: '2026-01-02T04:00:00.000Z' }],
};

function headerThatNotifies(on: readonly GroupEvent['kind'][]) {
  const header = aGroupHeader({ group: 'demo' });
  const notify = { webhook_env: 'HOOK', on: [...on] };
  return { ...header, spec: { ...header.spec, notify } };
}

function startSending(failures: readonly unknown[] = []) {
  const left = [...failures];
  const notifications = new FakeNotifications();
  const webhook = {
    send: async () => {
      if (left.length > 0) throw left.shift();
    },
  };
  return { notifications, webhook, clock: new FakeClock(), flag: '' };
}

describe('an event of a group', () => {
  it.each<[string, GroupEvent, string]>([
    [
      'an end with failed cells',
      end,
      'finished: 2 of 10 cells have no score (2 failed, 0 ungraded); retry them with: thrice rerun demo --failed --stage dev; $1.50',
    ],
    ['an end without', { ...end, scored: 9, failed: 0, costUsd: null }, 'complete: 10 cells'],
    [
      'a pause',
      pause,
      'paused at 3 of 10 cells; lane lab is blocked until 2026-01-02T04:00:00.000Z: 429 no quota; resume with: thrice resume demo --stage dev',
    ],
    [
      'a wait without a known end',
      {
        ...pause,
        isWaiting: true,
        lanes: [{ breakerKey: 'lab/m', reason: '402', until: null }],
      },
      'waiting at 3 of 10 cells; model lab/m is blocked: 402; it resumes by itself',
    ],
    [
      'many failures',
      { kind: 'failure', cells: 10, failed: 2 },
      '2 of 10 cells have failed so far; see: thrice status demo --stage dev',
    ],
    [
      'a budget of a lane at its cap',
      {
        ...{ kind: 'budget', level: 'cap', lane: 'lab' },
        ...{ spentUsd: 2, capUsd: 2, nextUsd: null, editCount: 0 },
      },
      'paused: the budget of lane lab is used up ($2.00 of $2.00); raise it with: thrice resume demo --stage dev --spec benchmark.toml',
    ],
    [
      'a budget that is nearly used up',
      {
        kind: 'budget',
        level: 'warning',
        lane: '',
        spentUsd: 0.8,
        capUsd: 1,
        nextUsd: null,
        editCount: 0,
      },
      'the budget is nearly used up ($0.8000 of $1.00)',
    ],
  ])('is told in one line: %s', (_, event, text) => {
    expect(describeEvent(event, place).text).toBe(text);
  });

  it('has the same key while no cell is done, and another one after progress', () => {
    const again = { ...pause, lanes: [{ breakerKey: 'lab', reason: 'other', until: null }] };

    expect(describeEvent(again, place).key).toBe(describeEvent(pause, place).key);
    expect(describeEvent({ ...pause, done: 4 }, place).key).not.toBe(
      describeEvent(pause, place).key,
    );
    expect(describeEvent({ ...end, failed: 1, scored: 8 }, place).key).not.toBe(
      describeEvent(end, place).key,
    );
  });

  it('is recorded once, and only if it is asked for', async () => {
    const stores = startSending();
    const header = headerThatNotifies(['end']);

    const recorded = [
      await recordEvent(header, end, stores),
      await recordEvent(header, end, stores),
      await recordEvent(header, pause, stores),
      await recordEvent(aGroupHeader(), end, stores),
    ];

    expect(recorded.map((each) => each?.key)).toEqual([
      describeEvent(end, place).key,
      undefined,
      undefined,
      undefined,
    ]);
    expect(await stores.notifications.listUnsent()).toEqual([recorded[0]]);
  });

  it('tells of failed cells from a twentieth of all cells on', () => {
    const failedOf100 = [0, 4, 5].map((failed) => areManyFailed({ failed, cells: 100 }));

    expect(failedOf100).toEqual([false, false, true]);
    expect(areManyFailed({ failed: 1, cells: 3 })).toBe(true);
  });
});

describe('a notification', () => {
  it('is settled once it is sent', async () => {
    const stores = startSending();
    await stores.notifications.record(aNotification());

    const outcome = await sendNotification(aNotification(), stores);

    expect(outcome).toEqual({ kind: 'sent' });
    expect(await stores.notifications.listUnsent()).toEqual([]);
  });

  it('stays unsent after a failure that may pass, and is due later', async () => {
    const stores = startSending([anError('webhook-unavailable')]);
    await stores.notifications.record(aNotification());

    const outcome = await sendNotification(aNotification(), stores);

    const [unsent = aNotification()] = await stores.notifications.listUnsent();
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'webhook-unavailable' } });
    expect(unsent.failureCount).toBe(1);
    expect(isSendingDue(unsent, stores.clock)).toBe(false);
    stores.clock.advance(limits.webhookBackoffBaseMs);
    expect(isSendingDue(unsent, stores.clock)).toBe(true);
    stores.clock.setWallClock(0);
    expect(isSendingDue(unsent, stores.clock)).toBe(true);
  });

  it.each([
    { failure: 'a refusal', code: 'webhook-refused' as const, failureCount: 0 },
    {
      failure: 'the last attempt',
      code: 'webhook-unavailable' as const,
      failureCount: limits.webhookAttempts - 1,
    },
  ])('is given up after $failure', async ({ code, failureCount }) => {
    const stores = startSending([anError(code)]);
    const notification = aNotification({ failureCount });
    await stores.notifications.record(notification);

    const outcome = await sendNotification(notification, stores);

    expect(outcome).toMatchObject({ kind: 'given-up', error: { code } });
    expect(await stores.notifications.listUnsent()).toEqual([]);
  });
});
