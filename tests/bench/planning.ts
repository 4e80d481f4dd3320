import { once } from 'node:events';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import {
  firstLine,
  residentMegabytes,
  runThrice,
  startThrice,
  writeBenchmark,
} from './bench-support.ts';

const QUESTIONS = 100_000;
const REPLICATES = 10;

/** Planning of a million cells: from the start of the command to its last task in the queue. */
export async function benchPlanning(folder: string): Promise<readonly Measurement[]> {
  const spec = await writeBenchmark(folder, {
    name: 'planning',
    // Nobody listens there: planning sends nothing.
    url: 'http://127.0.0.1:9/v1',
    questionCount: QUESTIONS,
    parallel: 1,
    replicates: REPLICATES,
  });
  const startedMs = performance.now();
  const child = startThrice(['run', spec, '--detach', '--dir', join(folder, 'planning-runs')]);
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(child));
  }, 50);
  const group = await firstLine(child);
  // The command returns once the last task is in the queue.
  if (child.exitCode === null) await once(child, 'exit');
  clearInterval(sampling);
  const seconds = (performance.now() - startedMs) / 1000;
  await runThrice(['cancel', group, '--dir', join(folder, 'planning-runs')]);
  return [
    {
      what: `planning ${(QUESTIONS * REPLICATES).toLocaleString('en')} cells`,
      measured: `${seconds.toFixed(1)} s, ${peak.toFixed(0)} MB at most`,
      budget: '<= 15 s, flat memory',
      isMet: seconds <= 15 && peak <= 250,
    },
  ];
}
