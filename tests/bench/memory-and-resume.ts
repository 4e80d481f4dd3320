import { once } from 'node:events';
import { join } from 'node:path';
import { startSimulator } from '@thrice/simulator';
import type { Measurement } from './bench.ts';
import {
  endProcess,
  residentMegabytes,
  runThrice,
  startThrice,
  writeBenchmark,
} from './bench-support.ts';

const CELLS = 100_000;

/** Resident memory over a long run, and how soon a half-done one goes on. */
export async function benchMemoryAndResume(folder: string): Promise<readonly Measurement[]> {
  await using simulator = await startSimulator();
  const spec = await writeBenchmark(folder, {
    name: 'memory',
    url: simulator.url,
    questionCount: CELLS,
    parallel: 64,
  });
  const dir = join(folder, 'memory-runs');
  const first = startThrice(['run', spec, '--dir', dir]);
  first.stdout?.resume();
  first.stderr?.resume();
  const early = await sampleWhile(first, () => simulator.stats().okCount < CELLS / 2);
  await endProcess(first, 'SIGKILL');

  const before = simulator.stats().okCount;
  const startedMs = performance.now();
  const second = startThrice(['resume', 'memory', '--dir', dir]);
  second.stdout?.resume();
  second.stderr?.resume();
  while (simulator.stats().okCount === before) await pause(5);
  const toFirstCallSeconds = (performance.now() - startedMs) / 1000;
  const late = await sampleWhile(second, () => second.exitCode === null);
  if (second.exitCode === null) await once(second, 'exit');
  const verify = await runThrice(['verify', 'memory', '--dir', dir]);
  const summarize = await runThrice(['summarize', 'memory', '--dir', dir]);
  const readingPeak = Math.max(verify.peakMegabytes, summarize.peakMegabytes);
  const peak = Math.max(...early, ...late);
  return [
    {
      what: `resident memory, ${CELLS} cells`,
      measured: `${peak.toFixed(0)} MB at most (first half ${Math.max(...early).toFixed(0)}, second half ${Math.max(...late).toFixed(0)})`,
      budget: '<= 250 MB and flat',
      isMet: peak <= 250,
    },
    {
      what: 'resident memory, verify and summarize of the same',
      measured: `${verify.peakMegabytes.toFixed(0)} MB and ${summarize.peakMegabytes.toFixed(0)} MB at most (verify took ${verify.seconds.toFixed(1)} s)`,
      budget: '<= 250 MB and flat',
      isMet: readingPeak <= 250,
    },
    {
      what: `resume of a half-done ${CELLS}-cell run, to its first answer`,
      measured: `${toFirstCallSeconds.toFixed(2)} s`,
      budget: '<= 2 s',
      isMet: toFirstCallSeconds <= 2,
    },
  ];
}

async function sampleWhile(
  child: Parameters<typeof residentMegabytes>[0],
  isGoingOn: () => boolean,
): Promise<readonly number[]> {
  const samples: number[] = [];
  while (isGoingOn()) {
    samples.push(residentMegabytes(child));
    await pause(100);
  }
  return samples;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
