import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { median, runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const QUESTIONS = 50_000;
const REPLICATES = 3;
const CELLS = 2 * QUESTIONS;
const ROUNDS = 3;

/** Time and memory of summarizing many cells, and of comparing two configs. */
export async function benchComparison(folder: string): Promise<readonly Measurement[]> {
  const name = 'comparison';
  const dir = join(folder, `${name}-runs`);
  await runOnce(folder, name, dir);
  const measurements: Measurement[] = [];
  for (const command of ['summarize', 'compare']) {
    const seconds: number[] = [];
    const peaks: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const ran = await runThrice([command, name, '--dir', dir]);
      seconds.push(ran.seconds);
      peaks.push(ran.peakMegabytes);
    }
    const peak = Math.max(...peaks);
    measurements.push({
      what: `${command} of ${CELLS} cells x ${REPLICATES} replicates`,
      measured: `${median(seconds).toFixed(1)} s, ${peak.toFixed(0)} MB at most`,
      budget: '<= 5 s, <= 400 MB',
      isMet: median(seconds) <= 5 && peak <= 400,
    });
  }
  return measurements;
}

async function runOnce(folder: string, name: string, dir: string): Promise<void> {
  await using simulator = await startSimulatorProcess();
  const { url } = simulator;
  const path = await writeBenchmark(folder, {
    ...{ name, url, questionCount: QUESTIONS, parallel: 64, replicates: REPLICATES },
  });
  const spec = await readFile(path, 'utf8');
  const [, config = ''] = spec.split(/(?=\[\[configs\]\])/);
  await writeFile(path, `${spec}${config.replace('"model"', '"other"')}`);
  await runThrice(['run', path, '--dir', dir]);
}
