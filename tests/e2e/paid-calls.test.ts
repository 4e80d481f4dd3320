import { join } from 'node:path';
import { type Faults, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { readCellRows } from '../support/cell-rows.ts';
import { spoiledResponses } from '../support/model-servers.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { billedUsd, priceLines, publishedSpend } from '../support/spend.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const QUESTIONS = 200;

function dataOf({ path }: TemporaryFolder): string {
  return join(path, '.thrice');
}

describe('the spend of a run', () => {
  it('equals what the vendor billed, whatever was wrong with its responses', async () => {
    await using simulator = await startSimulator({ faults: spoiledResponses });
    const files = smallBenchmark({
      url: simulator.url,
      questionCount: QUESTIONS,
      more: priceLines('a'),
    });
    await using folder = await temporaryFolder(files);

    const ran = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });
    const group = groupOf(ran);
    const verified = await callThrice(['verify', group], { cwd: folder.path });

    const rows = await readCellRows(dataOf(folder), group, 'a');
    const reasons = rows.flatMap(({ calls }) => calls.map(({ discarded }) => discarded));
    expect(ran.exitCode).toBe(1);
    expect(new Set(reasons)).toEqual(
      new Set([null, 'content-filtered', 'truncated-response', 'model-unavailable']),
    );
    expect(await publishedSpend(dataOf(folder), group)).toBe(billedUsd(simulator));
    expect(verified).toMatchObject({ exitCode: 0 });
  });

  it('includes the answers of another model, which every resume adds to', async () => {
    const faults: Faults = {
      seed: 5,
      faults: [{ kind: 'wrong-model', servedModel: 'another', count: 3 }],
    };
    await using simulator = await startSimulator({ faults });
    const files = smallBenchmark({
      url: simulator.url,
      questionCount: 6,
      top: 'parallel = 1',
      more: priceLines('a'),
    });
    await using folder = await temporaryFolder(files);
    const spends: (number | null)[] = [];

    const ran = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });
    const group = groupOf(ran);
    for (let resumeCount = 0; resumeCount < 3; resumeCount += 1) {
      spends.push(await publishedSpend(dataOf(folder), group));
      expect(spends.at(-1)).toBe(billedUsd(simulator));
      await callThrice(['resume', group], { cwd: folder.path });
    }

    expect(ran.exitCode).toBe(2);
    expect(new Set(spends).size).toBe(3);
    expect(await publishedSpend(dataOf(folder), group)).toBe(billedUsd(simulator));
  });

  it('is unknown if a response broke off before it told its tokens', async () => {
    const faults: Faults = { seed: 5, faults: [{ kind: 'truncated-json', count: 1 }] };
    await using simulator = await startSimulator({ faults });
    const files = smallBenchmark({ url: simulator.url, more: priceLines('a') });
    await using folder = await temporaryFolder(files);

    const ran = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });

    expect(ran.exitCode).toBe(0);
    expect(await publishedSpend(dataOf(folder), groupOf(ran))).toBeNull();
    const rows = await readCellRows(dataOf(folder), groupOf(ran), 'a');
    const discarded = rows.flatMap(({ calls }) => calls.filter((call) => call.discarded !== null));
    expect(discarded).toMatchObject([{ discarded: 'truncated-response', costUsd: null }]);
  });
});
