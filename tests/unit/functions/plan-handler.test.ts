import { describe, expect, it } from 'vitest';
import { createPlanHandler } from '../../../functions/shared/plan-handler.ts';
import { anError } from '../../support/builders.ts';
import { handled, LambdaStage, messageEvent, redelivered } from '../../support/lambda-stage.ts';

/** Three pages of questions. */
const ids = Array.from({ length: 1_200 }, (_, index) => `q${index}`);
const plan = { v: 1, group: 'demo', kind: 'plan' } as const;

async function openPlan(questions: readonly string[] = ids) {
  const lambda = new LambdaStage();
  await lambda.stage.enter({ ids: questions, isPlanned: false });
  const handler = createPlanHandler(lambda.compose);
  const run = async (receiveCount = 1) =>
    await handler(messageEvent('plan', plan, { receiveCount }), lambda.startInvocation());
  return { lambda, run };
}

async function isPlanned(lambda: LambdaStage): Promise<boolean | undefined> {
  return (await lambda.stage.ledger.readGroup('demo'))?.isPlanned;
}

describe('the plan function', () => {
  it('sends every task and marks the group planned', async () => {
    const { lambda, run } = await openPlan();

    const response = await run();

    expect(response).toEqual(handled);
    expect(lambda.stage.queue.sent).toHaveLength(ids.length);
    expect(await isPlanned(lambda)).toBe(true);
    expect(lambda.stage.requests.tasks).toEqual([]);
  });

  it.each([
    { title: 'a minute', limitMs: 900_000, pageMs: 60_000 },
    { title: 'all but the last minute of a short invocation', limitMs: 70_000, pageMs: 10_000 },
  ])('requests the rest after $title', async ({ limitMs, pageMs }) => {
    const { lambda, run } = await openPlan();
    lambda.limitMs = limitMs;
    lambda.onSend = () => lambda.clock.advance(pageMs);

    const response = await run();

    expect(response).toEqual(handled);
    expect(lambda.stage.queue.sent).toHaveLength(500);
    expect(lambda.stage.requests.tasks).toEqual([{ ...plan, begunBy: 'message-1' }]);
    expect(await isPlanned(lambda)).toBe(false);
  });

  it('sends another page as long as there is time', async () => {
    const { lambda, run } = await openPlan();
    lambda.onSend = () => lambda.clock.advance(59_999 / 2);

    await run();

    expect(lambda.stage.queue.sent).toHaveLength(ids.length);
  });

  it('ends its part in time even if the clock is set back by an hour', async () => {
    const { lambda, run } = await openPlan();
    lambda.onSend = () => {
      lambda.clock.advance(60_000);
      lambda.clock.setWallClock(lambda.clock.now() - 3_600_000);
    };

    await run();

    expect(lambda.stage.queue.sent).toHaveLength(500);
  });

  it.each([
    { receiveCount: 1, fromMs: 15_000, belowMs: 30_000 },
    { receiveCount: 4, fromMs: 120_000, belowMs: 240_000 },
  ])(
    'has a failed plan delivered again after a backoff: receive $receiveCount',
    async ({ receiveCount, fromMs, belowMs }) => {
      const { lambda, run } = await openPlan(['q1']);
      lambda.stage.queue.failNextSend(anError('store-unavailable'));

      const response = await run(receiveCount);

      const { released } = lambda;
      expect(response).toEqual(redelivered);
      expect(released).toMatchObject([{ lane: 'plan' }]);
      expect(released[0]?.delayMs).toBeGreaterThanOrEqual(fromMs);
      expect(released[0]?.delayMs).toBeLessThan(belowMs);
      expect(await isPlanned(lambda)).toBe(false);
    },
  );

  it('has a message that is not a request delivered again', async () => {
    const lambda = new LambdaStage();
    const handler = createPlanHandler(lambda.compose);

    const event = messageEvent('plan', { ...plan, v: 2 });
    const response = await handler(event, lambda.startInvocation());

    expect(response).toEqual(redelivered);
  });
});
