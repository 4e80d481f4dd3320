import type { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { extendVisibilityDuring } from '../../../functions/shared/extend-visibility.ts';
import { anError } from '../../support/builders.ts';
import { LambdaStage } from '../../support/lambda-stage.ts';
import { settledBy } from '../../support/settled-by.ts';

/** A message that is extended until `end` is called, when its work may fail. */
function extendUntilEnd(lambda: LambdaStage, failure?: ThriceError) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const record = {
    messageId: 'message-1',
    receiptHandle: 'receipt-1',
    body: '',
    attributes: { ApproximateReceiveCount: 1 },
    eventSourceARN: '',
  };
  const extension = extendVisibilityDuring(record, 'plan', lambda.compose(), async () => {
    await promise;
    if (failure !== undefined) throw failure;
  });
  return { extension, end };
}

describe('a message whose work takes long', () => {
  it('is extended at once, then every 20 seconds until the work ends', async () => {
    const lambda = new LambdaStage();
    const { extension, end } = extendUntilEnd(lambda);
    const counts: number[] = [];

    for (let beat = 0; beat < 3; beat += 1) {
      await settledBy(extension);
      counts.push(lambda.requestExtensionCount);
      lambda.clock.advance(20_000);
    }
    end();
    await extension;

    expect(counts).toEqual([1, 2, 3]);
    expect(lambda.clock.sleeperCount).toBe(0);
  });

  it('is extended again after an extension failed', async () => {
    const lambda = new LambdaStage();
    const { extension, end } = extendUntilEnd(lambda);
    await settledBy(extension);
    lambda.onMessage = () => {
      lambda.onMessage = () => undefined;
      throw anError('store-unavailable');
    };

    lambda.clock.advance(20_000);
    await settledBy(extension);
    lambda.clock.advance(20_000);
    await settledBy(extension);
    end();
    await extension;

    expect(lambda.requestExtensionCount).toBe(2);
  });

  it('fails with the error of its work, although it cannot be released either', async () => {
    const lambda = new LambdaStage();
    const { extension, end } = extendUntilEnd(lambda, anError('invalid-argument'));
    lambda.onMessage = (kind) => {
      if (kind === 'release') throw anError('store-unavailable');
    };

    end();

    await expect(extension).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(lambda.clock.sleeperCount).toBe(0);
  });
});
