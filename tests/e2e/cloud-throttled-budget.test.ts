import { type AwsRequest, dynamoError, type Intercept } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { toNanoUsd } from '../../packages/core/src/domain/budget.ts';
import { openCloud } from '../support/cloud.ts';
import { groupOf } from '../support/run-thrice.ts';
import { openStageStores, stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CELLS = 40;
/** Of the item of the budget: some tenth of what its cells would write. */
const WRITES_PER_SECOND = 3;
/** USD per million tokens. */
const price = { input: 1, output: 1_000 } as const;

/** Takes no more writes of a budget than so many a second, as DynamoDB does with an item that is too hot. */
function throttleBudget(onThrottled: () => void): Intercept {
  const startedMs = performance.now();
  let takenCount = 0;
  return async (request, proceed) => {
    if (!isBudgetWrite(request)) return await proceed();
    const allowedCount = ((performance.now() - startedMs) / 1_000) * WRITES_PER_SECOND;
    takenCount = Math.max(takenCount, allowedCount - WRITES_PER_SECOND);
    if (takenCount >= allowedCount) {
      onThrottled();
      // https://github.com/praetorian-inc/chariot-ui/issues/684 (2024-09)
      return dynamoError(
        'ThrottlingException',
        400,
        'Throughput exceeds the current capacity of your table or index.',
      );
    }
    takenCount += 1;
    return await proceed();
  };
}

function isBudgetWrite({ service, operation, input }: AwsRequest): boolean {
  return (
    service === 'dynamodb' &&
    operation === 'UpdateItem' &&
    JSON.stringify(input['Key']).includes('budget#')
  );
}

it('answers each cell of a stage once although the writes of its budget are throttled', async () => {
  await using simulator = await startSimulator({
    behaviour: { seed: 5, models: { '*': { accuracy: 1, latencyMs: { fixed: 200 } } } },
  });
  const files = stageBenchmark({
    url: simulator.url,
    questionCount: CELLS,
    top: 'budget_usd = 100',
    more: `max_tokens = 100\n\n[prices."sim/a"]\ninput = ${price.input}\noutput = ${price.output}`,
  });
  await using folder = await temporaryFolder(files);
  let throttledCount = 0;
  const intercept = throttleBudget(() => {
    throttledCount += 1;
  });
  await using cloud = await openCloud({ intercept, tickSeconds: 1 });

  const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
  const group = groupOf(ran);
  using stage = await openStageStores(cloud);
  const [account] = await stage.budgets.readAccounts(group);
  const dlq = await thriceIn(cloud, folder.path, 'dlq', 'ls', '--json');

  const { cells: dlqCells } = JSON.parse(dlq.stdout) as { readonly cells: readonly unknown[] };
  const { billed, okCount } = simulator.stats();
  const billedUsd = (billed.inputTokens * price.input + billed.outputTokens * price.output) / 1e6;
  expect(throttledCount).toBeGreaterThan(CELLS / 2);
  expect([ran.exitCode, okCount, dlqCells]).toEqual([0, CELLS, []]);
  // What could not be settled by the end counts at its worst case.
  const { spentNanoUsd = 0, reservedNanoUsd = 0, keptCount } = account ?? {};
  expect(spentNanoUsd).toBeLessThanOrEqual(toNanoUsd(billedUsd));
  expect(spentNanoUsd + reservedNanoUsd).toBeGreaterThanOrEqual(toNanoUsd(billedUsd));
  expect(keptCount).toBe(0);
});
