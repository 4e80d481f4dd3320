import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { median, runThrice } from './bench-support.ts';

const ROUNDS = 11;

/** How long `thrice --help` takes, as a whole process. */
export async function benchHelp(): Promise<readonly Measurement[]> {
  const millis: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    millis.push((await runThrice(['--help'])).seconds * 1000);
  }
  return [
    {
      what: 'thrice --help',
      measured: `${median(millis).toFixed(0)} ms`,
      budget: '<= 150 ms',
      isMet: median(millis) <= 150,
    },
  ];
}

/** How long a newcomer waits for the table of the quick start. */
export async function benchQuickStart(): Promise<readonly Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'thrice-bench-'));
  const spec = join(import.meta.dirname, '../../examples/quickstart/benchmark.toml');
  const { seconds } = await runThrice(['run', spec, '--dir', folder]);
  rmSync(folder, { recursive: true });
  return [
    {
      what: 'the quick start',
      measured: `${seconds.toFixed(1)} s`,
      budget: '< 10 s',
      isMet: seconds < 10,
    },
  ];
}
