import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const CELLS = 100_000;

/** Time and memory of grading many answers again, and of verifying and summarizing them. */
export async function benchRescore(folder: string): Promise<readonly Measurement[]> {
  const name = 'rescore';
  const dir = join(folder, `${name}-runs`);
  const spec = await runOnce(folder, name, dir);
  const edited = join(folder, `${name}-edited.toml`);
  const text = await readFile(spec, 'utf8');
  await writeFile(
    edited,
    `${text.replace('"numeric"', '"stated"')}[scorers.stated]\nkind = "regex"\npattern = "([0-9]+)"\n`,
  );
  const at = ['--dir', dir];
  const measurements: Measurement[] = [];
  // The model server is gone: a call would fail.
  for (const [what, args] of [
    ['rescore', ['rescore', name, '--spec', edited, ...at]],
    ['verify, two gradings', ['verify', name, ...at]],
    ['summarize', ['summarize', name, ...at]],
  ] as const) {
    const { seconds, peakMegabytes } = await runThrice(args);
    measurements.push({
      what: `${what} of ${CELLS} cells`,
      measured: `${seconds.toFixed(1)} s, ${peakMegabytes.toFixed(0)} MB`,
      budget: '<= 250 MB',
      isMet: peakMegabytes <= 250,
    });
  }
  return measurements;
}

async function runOnce(folder: string, name: string, dir: string): Promise<string> {
  await using simulator = await startSimulatorProcess();
  const { url } = simulator;
  const spec = await writeBenchmark(folder, { name, url, questionCount: CELLS, parallel: 64 });
  await runThrice(['run', spec, '--dir', dir]);
  return spec;
}
