import { limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { createReconcileHandler } from '../../../functions/shared/reconcile-handler.ts';
import { aBatchedCall, anError, anOpenBreaker } from '../../support/builders.ts';
import { FakeBatchClient } from '../../support/fake-batch-client.ts';
import { LambdaStage } from '../../support/lambda-stage.ts';

const tick = {};

describe('the reconciler function', () => {
  it('closes the breakers that are due', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.ledger.openBreaker(anOpenBreaker());
    lambda.clock.advance(3_600_000);

    await createReconcileHandler(lambda)(tick, lambda.startInvocation());

    expect(await lambda.stage.ledger.listOpenBreakers()).toEqual([]);
    expect(lambda.clock.sleeperCount).toBe(0);
  });

  it('counts the queues of lanes to find a group that is halted', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.enter();
    const handler = createReconcileHandler(lambda);

    for (let round = 0; round < 3; round += 1) {
      await handler(tick, lambda.startInvocation());
      lambda.clock.advance(60_000);
    }

    expect(lambda.stage.tasks.countedLanes).toEqual(['lab', 'lab']);
    expect(lambda.stage.requests.results).toEqual([{ v: 1, group: 'demo', isHalted: true }]);
  });

  it('serves no more groups when Lambda is about to stop it, and the others in the next minute', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.enter();
    const handler = createReconcileHandler(lambda);
    const isServed = () => lambda.stage.blobs.texts.has('runs/demo/progress.json');

    lambda.limitMs = 14_000;
    await handler(tick, lambda.startInvocation());
    const early = isServed();
    lambda.limitMs = 50_000;
    await handler(tick, lambda.startInvocation());

    expect([early, isServed()]).toEqual([false, true]);
  });

  it('breaks off what it asks a vendor when Lambda is about to stop it', async () => {
    const lambda = new LambdaStage();
    lambda.limitMs = 50_000;
    await lambda.stage.enter({ isBatched: true });
    const { batches } = lambda.stage;
    const call = aBatchedCall({ lane: 'lab', enteredAtMs: lambda.clock.now() - 3_600_000 });
    await batches.enter('demo', call, { requestCount: 1, bytes: 1_000 });
    const isSent = Promise.withResolvers<void>();
    let reason: unknown;
    const silent = new FakeBatchClient();
    silent.submit = async (_submission, signal) => {
      isSent.resolve();
      const isStopped = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => isStopped.resolve());
      await isStopped.promise;
      reason = signal.reason;
      throw reason;
    };
    const openBatches = () => ({ ...lambda.openBatches(), clientFor: () => silent });
    const handler = createReconcileHandler({ ...lambda, openBatches });

    const round = handler(tick, lambda.startInvocation());
    await isSent.promise;
    lambda.clock.advance(35_000);
    await round;

    expect(reason).toMatchObject({ code: 'interrupted' });
    expect(await batches.list('demo')).toMatchObject([{ state: 'announced' }]);
  });

  it.each([
    [limits.batchSendMs, []],
    [limits.batchSendMs + 1, ['submit']],
  ])('sends a batch only with the time that it may take: %s ms are left', async (leftMs, asked) => {
    const lambda = new LambdaStage();
    // The last 15 s are for the work on groups.
    lambda.limitMs = 15_000 + leftMs;
    await lambda.stage.enter({ isBatched: true });
    const call = aBatchedCall({ lane: 'lab', enteredAtMs: lambda.clock.now() - 3_600_000 });
    await lambda.stage.batches.enter('demo', call, { requestCount: 1, bytes: 1_000 });
    const vendor = new FakeBatchClient();
    const openBatches = () => ({ ...lambda.openBatches(), clientFor: () => vendor });
    const handler = createReconcileHandler({ ...lambda, openBatches });

    await handler(tick, lambda.startInvocation());

    expect(vendor.asked).toEqual(asked);
  });

  it('fails if a store fails, so that the alarm for errors sees it', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.enter();
    lambda.stage.activeGroups.failNext('removeDeferred', anError('store-unavailable'));
    await lambda.stage.activeGroups.defer('lab', 'demo');

    const round = createReconcileHandler(lambda)(tick, lambda.startInvocation());

    await expect(round).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(lambda.clock.sleeperCount).toBe(0);
  });
});
