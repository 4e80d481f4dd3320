import { loadRecordings, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { bbhFolder, bbhToml, readBbhExpectation } from '../support/bbh-benchmark.ts';
import { openCloud } from '../support/cloud.ts';
import { figuresOf } from '../support/run-figures.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { hasSharedData } from '../support/shared-data.ts';
import { thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe.runIf(hasSharedData)('the sweeps in a stage', () => {
  it('get 3408 of 6511 direct and 2109 of 3187 chain-of-thought answers right, like the local engine', async () => {
    const recordings = await loadRecordings(bbhFolder);
    await using simulator = await startSimulator({ recordings });
    const { recorded } = await readBbhExpectation();
    const spec = bbhToml(simulator.url, recorded.cot, 'parallel = 32').replaceAll('codex', 'sim');
    await using folder = await temporaryFolder({ 'bbh.toml': spec });
    await using cloud = await openCloud();
    const cwd = folder.path;

    const here = await callThrice(['run', 'bbh.toml'], { cwd });
    const ran = await thriceIn(cloud, cwd, 'run', 'bbh.toml');
    const figures = await figuresOf(thriceIn(cloud, cwd, 'summarize', groupOf(ran), '--json'));
    const expected = await figuresOf(callThrice(['summarize', groupOf(here), '--json'], { cwd }));

    expect(ran.exitCode).toBe(0);
    expect(figures).toEqual(expected);
    expect(figures).toMatchObject([
      { config: 'direct', figures: { questions: 6511, correct: 3408, coverage: 1 } },
      { config: 'cot', figures: { questions: 3187, correct: 2109, coverage: 1 } },
    ]);
    const counts = [...simulator.stats().requestsByQuestion.values()];
    expect(counts).toHaveLength(2 * (6511 + 3187));
    expect(counts.filter(({ requests }) => requests !== 1)).toEqual([]);
  });
});
