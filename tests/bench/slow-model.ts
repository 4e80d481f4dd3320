import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const LATENCY_S = 2;
const CONCURRENCY = 512;
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
  const questionCount = CONCURRENCY * WAVES;
  const spec = await writeBenchmark(folder, {
    name: 'slow',
    url: simulator.url,
    questionCount,
    parallel: CONCURRENCY,
  });
  const { seconds } = await runThrice(['run', spec, '--dir', join(folder, 'slow-runs')]);
  const ratio = questionCount / seconds / (CONCURRENCY / LATENCY_S);
  return [
    {
      what: `slow model (${LATENCY_S} s), ${CONCURRENCY} concurrent, whole command`,
      measured: `${(ratio * 100).toFixed(1)} % of concurrency / latency`,
      budget: '>= 95 %',
      isMet: ratio >= 0.95,
    },
  ];
}
