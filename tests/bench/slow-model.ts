import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const LATENCY_S = 2;
/** The latency that one call in a hundred exceeds. */
const P99_LATENCY_S = 2.2;
/** The 99th percentile of the normal distribution. */
const NORMAL_P99 = 2.326;
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
  const latencyMs = { median: LATENCY_S * 1000, p99: P99_LATENCY_S * 1000 };
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
      measured: `${(ratio * 100).toFixed(1)} % of concurrency / latency (the calls alone allow ${(ratioOfCalls(concurrency) * 100).toFixed(1)} %)`,
      budget: `>= ${leastRatio * 100} %`,
      isMet: ratio >= leastRatio,
    });
  }
  return measurements;
}

/**
 * The ratio of a program that takes no time itself: the latencies differ, and at the end slots stay free while the
 * last calls are in flight.
 */
function ratioOfCalls(concurrency: number): number {
  const callCount = concurrency * WAVES;
  /** When each slot becomes free, s, the latest first. */
  const freeAt = Array.from({ length: concurrency }, () => 0);
  for (let call = 0; call < callCount; call += 1) {
    const endsAt = (freeAt.pop() ?? 0) + drawLatencySeconds();
    const index = freeAt.findIndex((at) => at <= endsAt);
    freeAt.splice(index === -1 ? freeAt.length : index, 0, endsAt);
  }
  return callCount / (freeAt[0] ?? 0) / (concurrency / LATENCY_S);
}

function drawLatencySeconds(): number {
  const normal =
    Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return LATENCY_S * Math.exp((Math.log(P99_LATENCY_S / LATENCY_S) / NORMAL_P99) * normal);
}
