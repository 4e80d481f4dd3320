import type { Intercept } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { answerRequests } from '../support/answer-requests.ts';
import { openCloud } from '../support/cloud.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CELLS = 40;
/** Concurrency of a lane in a stage that is not production. */
const LANE_CONCURRENCY = 8;

/** Removes a count and returns it. */
function take(counts: Map<string, number>, name: string): number {
  const count = counts.get(name) ?? 0;
  counts.delete(name);
  return count;
}

describe('the cost of a cell', () => {
  it('is the number of requests that docs/cloud.md assumes', async () => {
    const sent = new Map<string, number>();
    const intercept: Intercept = async ({ environmentId = '', service, operation }, proceed) => {
      const [component = ''] = environmentId.split('-');
      const name = `${component.toLowerCase()} ${service} ${operation}`;
      sent.set(name, (sent.get(name) ?? 0) + 1);
      return await proceed();
    };
    await using simulator = await startSimulator();
    const files = stageBenchmark({ url: simulator.url, questionCount: CELLS });
    await using folder = await temporaryFolder(files);
    await using cloud = await openCloud({ intercept });

    await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');

    const assumed = new Map(
      Object.entries(answerRequests).map(([name, count]) => [`answer ${name}`, count * CELLS]),
    );
    assumed.set('plan sqs SendMessageBatch', CELLS / 10);
    // The last cell of each config reads the tallies; that of the group requests the results.
    assumed.set('answer sqs SendMessage', 1);
    assumed.set('answer dynamodb Query', 1);
    // The first cell of each process reads the header. Not all cells read the group's state, the breakers and the pace
    // again; one that takes what another has read may have to read the pace alone.
    const readCount =
      take(sent, 'answer dynamodb GetItem') + take(sent, 'answer dynamodb BatchGetItem');
    const assumedCount = take(assumed, 'answer dynamodb BatchGetItem');
    const ofCells = [...sent].filter(
      ([name]) => name.startsWith('answer ') || name === 'plan sqs SendMessageBatch',
    );
    expect(new Map(ofCells)).toEqual(assumed);
    expect(readCount).toBeLessThanOrEqual(assumedCount + LANE_CONCURRENCY);
  });
});
