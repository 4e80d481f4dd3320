import { describe, expect, it } from 'vitest';
import { createFinalizeHandler } from '../../../functions/shared/finalize-handler.ts';
import { anError } from '../../support/builders.ts';
import { handled, LambdaStage, messageEvent, redelivered } from '../../support/lambda-stage.ts';

const request = { v: 1, group: 'demo' };

/** A stage whose group has one cell of two done. */
async function openFinalize() {
  const lambda = new LambdaStage();
  await lambda.stage.enter({ ids: ['q1', 'q2'] });
  await lambda.stage.complete(['q1']);
  const handler = createFinalizeHandler(lambda.compose);
  const run = async (body: object) =>
    await handler(messageEvent('finalize', body), lambda.startInvocation());
  return { lambda, run };
}

describe('the finalize function', () => {
  it('writes the results of a group', async () => {
    const { lambda, run } = await openFinalize();

    const response = await run(request);

    expect(response).toEqual(handled);
    expect(lambda.stage.blobs.written).toContain('runs/demo/summary.json');
  });

  it.each([
    { isHalted: true, refills: [{ v: 1, group: 'demo', kind: 'refill' }] },
    { isHalted: false, refills: [] },
  ])(
    'requests the missing tasks if the group is halted: $isHalted',
    async ({ isHalted, refills }) => {
      const { lambda, run } = await openFinalize();

      await run({ ...request, isHalted });

      expect(lambda.stage.requests.tasks).toEqual(refills);
    },
  );

  it('has a request that failed delivered again after a backoff', async () => {
    const { lambda, run } = await openFinalize();
    lambda.stage.ledger.failNext('replaceTally', anError('store-unavailable'));
    const [tally] = await lambda.stage.ledger.readTallies('demo-r1');
    if (tally === undefined) throw new Error('expected a tally');
    lambda.stage.ledger.setTally({ ...tally, correct: 0 });

    const response = await run(request);

    expect(response).toEqual(redelivered);
    expect(lambda.released).toMatchObject([{ lane: 'finalize' }]);
  });
});
