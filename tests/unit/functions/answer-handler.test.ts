import type { Delivery, ModelResponse } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { createAnswerHandler } from '../../../functions/shared/answer-handler.ts';
import { aModelResponse, anError } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { cutOffByAbort, type FakeAnswer, untilAborted } from '../../support/fake-model-client.ts';
import { handled, LambdaStage, sqsEvent, taskEvent } from '../../support/lambda-stage.ts';
import { settledBy } from '../../support/settled-by.ts';
import { Steps } from '../../support/steps.ts';

/** A stage with a planned group of one cell, and the handler of its answer function. */
async function openAnswer(answer?: FakeAnswer) {
  const lambda = new LambdaStage(answer);
  await lambda.stage.enter();
  return { lambda, handler: createAnswerHandler(lambda) };
}

describe('the answer function near the time limit', () => {
  it('records the call that it aborts while its response arrives, even if the store is away at first', async () => {
    const { lambda, handler } = await openAnswer(cutOffByAbort);
    const delivery = await lambda.stage.deliver();
    lambda.stage.ledger.failNext('commitCall', anError('store-unavailable'));
    const response = handler(taskEvent(delivery), lambda.startInvocation());
    await settledBy(response);

    lambda.clock.advance(lambda.limitMs - 15_000);
    await settledBy(response);
    lambda.clock.advance(1_000);

    expect(await response).toEqual(handled);
    expect(lambda.stage.cell()).toMatchObject({ state: 'released', attempts: 0 });
    const { run, config } = delivery.task;
    const discarded = await collect(lambda.stage.ledger.listDiscardedCalls(run, config));
    expect(discarded).toMatchObject([{ entry: { call: { discarded: 'interrupted' } } }]);
  });

  it.each([
    { limitMs: 135_000, isReleased: true },
    { limitMs: 140_000, isReleased: false },
  ])(
    'retries within the invocation only if a call of 120 seconds has time to end: $limitMs ms',
    async ({ limitMs, isReleased }) => {
      const open = await openAnswer(() => anError('model-unavailable'));
      open.lambda.limitMs = limitMs;

      const delivery = await open.lambda.stage.deliver();
      const response = open.handler(taskEvent(delivery), open.lambda.startInvocation());

      expect(await settledBy(response)).toBe(isReleased);
      expect(open.lambda.stage.models.requests).toHaveLength(1);
      expect(open.lambda.sentLater).toHaveLength(isReleased ? 1 : 0);
      open.lambda.clock.advance(limitMs);
      await response;
    },
  );
});

describe('an event with several messages', () => {
  const ids = ['q1', 'q2', 'q3'];

  /** Handles the tasks of all questions in one event. */
  async function openEvent(answer?: FakeAnswer) {
    const lambda = new LambdaStage(answer);
    await lambda.stage.enter({ ids });
    const deliveries: Delivery[] = [];
    for (const id of ids) deliveries.push(await lambda.stage.deliver({ id }));
    const handler = createAnswerHandler(lambda);
    const event = sqsEvent(deliveries);
    return { lambda, event, handle: () => handler(event, lambda.startInvocation()) };
  }

  const states = ({ stage }: LambdaStage) => ids.map((id) => stage.cell({ id })?.state);
  const failedItems = (...failed: readonly string[]) => ({
    batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })),
  });

  it('is answered with all calls in flight at once', async () => {
    const { lambda, handle } = await openEvent(untilAborted);

    const response = handle();
    await settledBy(response);
    const inFlight = lambda.stage.models.requests.map(({ cell }) => cell.id);
    lambda.clock.advance(lambda.limitMs);
    await response;

    expect(inFlight).toEqual(ids);
    expect(lambda.clock.sleeperCount).toBe(0);
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'broken'],
    ['null', null],
  ])('survives code that throws %s for one of them', async (_, thrown) => {
    const { lambda, handle } = await openEvent();
    const claim = lambda.stage.ledger.claimCell.bind(lambda.stage.ledger);
    lambda.stage.ledger.claimCell = async (key, ...rest) => {
      return key.id === 'q2' ? await Promise.reject(thrown) : await claim(key, ...rest);
    };

    const response = await handle();

    expect(response).toEqual(failedItems('q2'));
    expect(states(lambda)).toEqual(['done', undefined, 'done']);
  });

  it.each([
    { canDelete: true, expected: ['q1', 'q2'] },
    { canDelete: false, expected: [] },
  ])(
    'has a message that is done before the others deleted at once, if it can, and leaves the last one to Lambda: $canDelete',
    async ({ canDelete, expected }) => {
      const slow = Promise.withResolvers<ModelResponse>();
      const { lambda, handle } = await openEvent(({ cell }) => {
        if (cell.id === 'q2') return anError('model-rate-limited', { retryAfterMs: 100_000 });
        return cell.id === 'q3' ? slow.promise : aModelResponse();
      });
      lambda.onMessage = (kind) => {
        if (kind === 'acknowledge' && !canDelete) throw anError('store-unavailable');
      };

      const response = handle();
      await settledBy(response);
      const deleted = [...lambda.deleted];
      slow.resolve(aModelResponse());

      expect(await response).toEqual(handled);
      expect(deleted.toSorted()).toEqual(expected);
      expect(lambda.deleted).toEqual(deleted);
      expect(lambda.sentLater).toMatchObject([{ task: { id: 'q2' }, delayMs: 100_000 }]);
    },
  );

  it('keeps each lease with a heartbeat of its own', async () => {
    const { lambda, handle } = await openEvent(untilAborted);
    const response = handle();
    await settledBy(response);
    lambda.onMessage = (_, deliveries) => {
      if (deliveries.some(({ task }) => task.id === 'q1')) throw anError('store-unavailable');
    };
    const { extended } = lambda.stage.queue;
    extended.length = 0;

    lambda.clock.advance(20_000);
    await settledBy(response);
    const beats = extended.map((deliveries) => deliveries.map(({ task }) => task.id));
    const leases = lambda.stage.ledger.log.filter((method) => method === 'extendLeases');
    lambda.clock.advance(lambda.limitMs);
    await response;

    expect(beats).toEqual([['q2'], ['q3']]);
    expect(leases).toHaveLength(3);
  });

  it('aborts all calls 15 seconds before Lambda would, and releases the cells', async () => {
    const { lambda, handle } = await openEvent(untilAborted);
    const response = handle();

    expect(await settledBy(response)).toBe(false);
    lambda.clock.advance(lambda.limitMs - 15_001);
    expect(await settledBy(response)).toBe(false);
    lambda.clock.advance(1);

    expect(await response).toEqual(handled);
    expect(states(lambda)).toEqual(['released', 'released', 'released']);
    expect(lambda.sentLater.map(({ task }) => task.id)).toEqual(ids);
    expect(lambda.sentLater.every(({ delayMs }) => delayMs === 0)).toBe(true);
    expect(lambda.clock.sleeperCount).toBe(0);
  });

  it('takes one reading of the group, and requests the results once', async () => {
    const { lambda, event } = await openEvent();
    const { ledger, requests } = lambda.stage;
    const { openModels } = lambda;
    const steps = new Steps();
    const compose = () => ({ ...lambda.compose(), ledger: steps.watch('ledger', ledger) });

    await createAnswerHandler({ compose, openModels })(event, lambda.startInvocation());

    const reads = steps.names.filter((name) => name.includes('read'));
    expect(reads).toEqual(['ledger.readGroup', 'ledger.readConditions', 'ledger.readTallies']);
    expect(requests.results).toHaveLength(1);
  });
});
