import { workLeaseMs } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { createFinalizeHandler } from '../../../functions/shared/finalize-handler.ts';
import { anError } from '../../support/builders.ts';
import { handled, LambdaStage, messageEvent, redelivered } from '../../support/lambda-stage.ts';

const request = { v: 1, group: 'demo' };
const results = { group: 'demo', work: 'results' };

/** A stage whose group has one cell of two done. */
async function openFinalize() {
  const lambda = new LambdaStage();
  await lambda.stage.enter({ ids: ['q1', 'q2'] });
  await lambda.stage.complete(['q1']);
  const handler = createFinalizeHandler(lambda.compose);
  const run = async (body: object, receiveCount = 1) =>
    await handler(messageEvent('finalize', body, { receiveCount }), lambda.startInvocation());
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

  it('requests the next part after a minute', async () => {
    const { lambda, run } = await openFinalize();
    const { readCells } = lambda.stage.ledger;
    lambda.stage.ledger.readCells = async (...args) => {
      lambda.clock.advance(60_000);
      return await readCells.apply(lambda.stage.ledger, args);
    };

    await run({ ...request, isHalted: true });
    await run({ ...request, isHalted: true, isNext: true });

    expect(lambda.stage.requests.results).toEqual([{ ...request, isHalted: true, isNext: true }]);
    expect(lambda.stage.blobs.written.filter((key) => key.includes('/cells/'))).toHaveLength(1);
    expect(lambda.stage.blobs.written).toContain('runs/demo/summary.json');
  });

  it.each([1, 2])(
    'drops a request that it receives for the %i. time while the request of another worker is in use',
    async (receiveCount) => {
      const { lambda, run } = await openFinalize();
      await lambda.compose().workLeases.claim(results, 'another', 'message-2');

      const response = await run(request, receiveCount);

      expect(response).toEqual(handled);
      expect(lambda.released).toEqual([]);
      expect(lambda.stage.blobs.written).not.toContain('runs/demo/summary.json');
    },
  );

  it('has its own request delivered again when the lease of a worker that may have died has ended', async () => {
    const { lambda, run } = await openFinalize();
    await lambda.compose().workLeases.claim(results, 'another', 'message-1');
    lambda.clock.advance(20_000);

    const response = await run(request, 2);

    expect(response).toEqual(redelivered);
    expect(lambda.released).toEqual([{ lane: 'finalize', delayMs: 45_000 }]);
  });

  it('keeps a request for the end of the lease of work that failed twice, and drops it then if others continue', async () => {
    const { lambda, run } = await openFinalize();
    const { workLeases } = lambda.compose();
    await workLeases.claim(results, 'first', 'message-2');
    lambda.clock.advance(workLeaseMs(0));
    await workLeases.claim(results, 'second', 'message-2');

    const responses = [await run(request)];
    lambda.clock.advance(workLeaseMs(1));
    await workLeases.claim(results, 'third', 'message-3');
    responses.push(await run(request, 2));

    expect(responses).toEqual([redelivered, handled]);
    expect(lambda.released).toEqual([{ lane: 'finalize', delayMs: workLeaseMs(1) + 5_000 }]);
  });

  it('writes the results for a request that has waited for the end of such a lease', async () => {
    const { lambda, run } = await openFinalize();
    const { workLeases } = lambda.compose();
    await workLeases.claim(results, 'first', 'message-2');
    lambda.clock.advance(workLeaseMs(0));
    await workLeases.claim(results, 'second', 'message-2');
    await run(request);
    lambda.clock.advance(workLeaseMs(1));

    const response = await run(request, 2);

    expect(response).toEqual(handled);
    expect(lambda.stage.blobs.written).toContain('runs/demo/summary.json');
  });

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
