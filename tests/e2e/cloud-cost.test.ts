import type { Intercept } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import {
  answeredCell,
  deliveredCell,
  plannedCell,
} from '../../packages/capacity-model/src/cell-protocol.ts';
import { openCloud } from '../support/cloud.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CELLS = 40;
/** Concurrency of a lane in a stage that is not production: this many cells may be the last at once. */
const LANE_CONCURRENCY = 8;

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

    const assumed = new Map<string, number>();
    for (const { sender, service, name, count } of [
      ...plannedCell,
      ...deliveredCell,
      ...answeredCell,
    ]) {
      if (sender === 'poller') continue;
      const key = `${sender} ${service} ${name}`;
      assumed.set(key, (assumed.get(key) ?? 0) + count * CELLS);
    }
    // Each worker that sees no cell left requests the results: some requests per group, not per cell.
    const resultRequestCount = sent.get('answer sqs SendMessage') ?? 0;
    sent.delete('answer sqs SendMessage');
    const ofCells = [...sent].filter(
      ([name]) => name.startsWith('answer ') || name === 'plan sqs SendMessageBatch',
    );
    expect(new Map(ofCells)).toEqual(assumed);
    expect(resultRequestCount).toSatisfy(
      (count: number) => count >= 1 && count <= LANE_CONCURRENCY,
    );
  });
});
