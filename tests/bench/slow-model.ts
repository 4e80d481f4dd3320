import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const LATENCY_S = 2;
/** Calls at a time, and how much of what they allow has to be reached. */
const BUDGETS = [
  { concurrency: 512, leastRatio: 0.97 },
  { concurrency: 2_000, leastRatio: 0.95 },
] as const;
/** Start and end of the command take a second or two, which a run of hours does not feel. */
const WAVES = 20;

/** How much of the possible concurrency / latency a slow model gets. */
export async function benchSlowModel(folder: string): Promise<readonly Measurement[]> {
  const behaviour = join(folder, 'slow.json');
  // A little spread, as every real model has: in lockstep, hundreds of answers would come at once.
  const latencyMs = { median: LATENCY_S * 1000, p99: LATENCY_S * 1100 };
  const model = { accuracy: 1, latencyMs };
  await writeFile(behaviour, JSON.stringify({ seed: 1, models: { model } }));
  await using simulator = await startSimulatorProcess(['--behaviour', behaviour]);
  const measurements: Measurement[] = [];
  for (const { concurrency, leastRatio } of BUDGETS) {
    const questionCount = concurrency * WAVES;
    const name = `slow-${concurrency}`;
    const { url } = simulator;
    const spec = await writeBenchmark(folder, { name, url, questionCount, parallel: concurrency });
    const { seconds } = await runThrice(['run', spec, '--dir', join(folder, `${name}-runs`)]);
    const ratio = questionCount / seconds / (concurrency / LATENCY_S);
    measurements.push({
      what: `slow model (${LATENCY_S} s), ${concurrency} concurrent, whole command`,
      measured: `${(ratio * 100).toFixed(1)} % of concurrency / latency`,
      budget: `>= ${leastRatio * 100} %`,
      isMet: ratio >= leastRatio,
    });
  }
  return measurements;
}
