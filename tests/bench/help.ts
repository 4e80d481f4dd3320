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
