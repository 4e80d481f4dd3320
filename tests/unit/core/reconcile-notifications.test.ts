import { finalizePart, limits, reconcileGroups } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anError, anOpenBreaker } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

const MINUTE_MS = 60_000;

/** A stage with a group of twenty cells of each config that notifies. */
async function openStage(
  configs?: NonNullable<Parameters<FakeStage['enter']>[0]>['configs'],
): Promise<FakeStage> {
  const stage = new FakeStage();
  const ids = Array.from({ length: 20 }, (_, at) => `q${at}`);
  await stage.enter({ ids, isNotified: true, ...(configs && { configs }) });
  return stage;
}

/** Runs rounds of the reconciler, a minute apart. */
async function reconcile(stage: FakeStage, rounds = 1): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await reconcileGroups(stage, ({ kind }) => {
      if (kind.startsWith('notification')) kinds.push(kind);
    });
    stage.clock.advance(MINUTE_MS);
  }
  return kinds;
}

function toldBy({ webhook }: FakeStage): readonly string[] {
  return webhook.told.map(({ event, text }) => `${event}: ${text}`);
}

describe('the reconciler of a group that notifies', () => {
  it('tells of a pause once, with lane, reason, reset and command, and of the next one after progress', async () => {
    const stage = await openStage();
    const resetAt = stage.clock.toIso(stage.clock.now() + 8 * 3_600_000);
    const breaker = anOpenBreaker({ resetAt });
    await stage.ledger.openBreaker(breaker);

    await reconcile(stage, 3);
    const first = toldBy(stage);
    await stage.ledger.closeBreaker(breaker);
    await stage.complete(['q0']);
    await stage.ledger.openBreaker(breaker);
    await reconcile(stage, 3);

    expect(first).toEqual([
      `pause: demo: waiting at 0 of 20 cells; lane lab is blocked until ${resetAt}: 429 no quota; it resumes by itself`,
    ]);
    expect(stage.webhook.told.map(({ facts }) => facts['done'])).toEqual([0, 1]);
    expect(stage.webhook.told[0]?.facts['command']).toBe('thrice resume demo --stage dev');
  });

  it('tells of no pause while cells complete without a model that is blocked', async () => {
    const members = [{ model: 'lab/m' }, { model: 'lab/m' }];
    const escalate = { model: 'lab/strong' };
    const stage = await openStage([{ name: 'direct', solver: 'cascade', members, escalate }]);
    await reconcile(stage);
    const resetAt = stage.clock.toIso(stage.clock.now() + 8 * 3_600_000);
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab/strong', resetAt }));

    for (const id of ['q0', 'q1', 'q2']) {
      await stage.complete([id]);
      await reconcile(stage);
    }
    const whileCompleting = toldBy(stage);
    await reconcile(stage, 2);

    expect(whileCompleting).toEqual([]);
    expect(toldBy(stage)).toEqual([expect.stringContaining('waiting at 3 of 20 cells')]);
  });

  it('tells of the lanes that cells which are left need', async () => {
    const stage = await openStage([
      { name: 'direct', model: 'lab/m' },
      { name: 'other', model: 'spare/m' },
    ]);
    const ids = Array.from({ length: 20 }, (_, at) => `q${at}`);
    await stage.complete(ids);
    const resetAt = stage.clock.toIso(stage.clock.now() + 8 * 3_600_000);
    for (const breakerKey of ['lab', 'spare'])
      await stage.ledger.openBreaker(anOpenBreaker({ breakerKey, resetAt }));

    await reconcile(stage, 2);

    expect(stage.webhook.told.map(({ facts }) => facts['lanes'])).toEqual(['spare']);
  });

  it('says that a misconfigured lane needs its user', async () => {
    const stage = await openStage();
    const error = { class: 'misconfigured', code: 'auth-failed', message: '401' } as const;
    await stage.ledger.openBreaker(anOpenBreaker({ error }));

    await reconcile(stage);

    expect(toldBy(stage)).toEqual([
      'pause: demo: paused at 0 of 20 cells; lane lab is blocked: 401; resume with: thrice resume demo --stage dev',
    ]);
  });

  it('tells of the end that the results have recorded, and no more of it', async () => {
    const stage = await openStage();
    const ids = Array.from({ length: 20 }, (_, at) => `q${at}`);
    await stage.complete(ids);

    for (let count = 0; count < 2; count += 1) {
      await finalizePart({ group: 'demo' }, workPartOptions(), stage);
      await reconcile(stage, 2);
    }

    expect(toldBy(stage)).toEqual(['end: demo: complete: 20 cells']);
  });

  it('sends what the webhook did not take later, less and less often, and goes on meanwhile', async () => {
    const stage = await openStage();
    await stage.ledger.openBreaker(anOpenBreaker({ resetAt: '2026-12-31T00:00:00.000Z' }));
    stage.webhook.failures.push(...[1, 2, 3].map(() => anError('webhook-unavailable')));

    const kinds = await reconcile(stage, 5);

    expect(kinds).toEqual([
      ...['notification-failed', 'notification-failed', 'notification-failed'],
      'notification-sent',
    ]);
    expect(toldBy(stage)).toHaveLength(1);
  });

  it('gives up what is refused, and what has failed for long', async () => {
    const stage = await openStage();
    await stage.ledger.openBreaker(anOpenBreaker({ resetAt: '2026-12-31T00:00:00.000Z' }));
    stage.webhook.failures.push(
      ...Array.from({ length: limits.webhookAttempts }, () => anError('webhook-unavailable')),
    );

    const kinds = await reconcile(stage, 30 * 60);

    expect(kinds.at(-1)).toBe('notification-given-up');
    expect(kinds).toHaveLength(limits.webhookAttempts);
    expect(toldBy(stage)).toEqual([]);
  });

  it('records nothing for a group without [notify]', async () => {
    const stage = new FakeStage();
    await stage.enter();
    await stage.ledger.openBreaker(anOpenBreaker());

    await reconcile(stage, 2);

    expect(await stage.notifications.listUnsent()).toEqual([]);
    expect(toldBy(stage)).toEqual([]);
  });
});
