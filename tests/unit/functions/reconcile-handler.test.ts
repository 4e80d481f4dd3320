import { describe, expect, it } from 'vitest';
import { createReconcileHandler } from '../../../functions/shared/reconcile-handler.ts';
import { anError, anOpenBreaker } from '../../support/builders.ts';
import { LambdaStage } from '../../support/lambda-stage.ts';

const tick = {};

describe('the reconciler function', () => {
  it('closes the breakers that are due', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.ledger.openBreaker(anOpenBreaker());
    lambda.clock.advance(3_600_000);

    await createReconcileHandler(lambda)(tick, lambda.startInvocation());

    expect(await lambda.stage.ledger.listOpenBreakers()).toEqual([]);
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

  it('fails if a store fails, so that the alarm for errors sees it', async () => {
    const lambda = new LambdaStage();
    await lambda.stage.enter();
    lambda.stage.activeGroups.failNext('removeDeferred', anError('store-unavailable'));
    await lambda.stage.activeGroups.defer('lab', 'demo');

    const round = createReconcileHandler(lambda)(tick, lambda.startInvocation());

    await expect(round).rejects.toMatchObject({ code: 'store-unavailable' });
  });
});
