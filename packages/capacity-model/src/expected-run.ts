import { awsLimits } from './aws-limits.ts';
import { timing } from './cell-protocol.ts';
import type { RunCounts } from './run-cost.ts';
import { concurrencyCap, deliveriesOf, type Scenario } from './scenario.ts';

/** The outcome of a run by formula. */
export interface ExpectedRun {
  readonly wallSeconds: number;
  readonly counts: RunCounts;
}

/**
 * Computes a run by formula: `wall = deliveries * seconds / concurrency + ramp + cells / finalization rate`.
 *
 * Holds while no message expires, and for far more cells than concurrency: only then is the tail, when
 * free slots wait for the slowest calls, short compared with the rest.
 */
export function expectRun(scenario: Scenario): ExpectedRun {
  const { questions } = scenario;
  const { seconds, heartbeats, isCutOff } = deliveriesOf(scenario);
  const deliveries = questions / (1 - meanOf(isCutOff));
  const cap = concurrencyCap(scenario);
  const counts: RunCounts = {
    planned: questions,
    deliveries,
    answered: questions,
    released: deliveries - questions,
    reclaimed: deliveries - questions,
    heartbeats: deliveries * meanOf(heartbeats),
    answerSeconds: deliveries * meanOf(seconds),
    planSeconds: questions / timing.planCellsPerSecond,
    recordsRead: questions,
    finalizeSeconds: questions / timing.finalizeCellsPerSecond,
    finalizations: 1,
  };
  const workSeconds = counts.answerSeconds / cap;
  return { counts, wallSeconds: workSeconds + rampDelaySeconds(cap) + counts.finalizeSeconds };
}

/** Time a mapping with enough messages takes to reach full concurrency, s. */
export function rampSeconds(concurrency: number): number {
  const { mappingStart, mappingAddedPerMinute } = awsLimits;
  return (Math.max(0, concurrency - mappingStart.value) * 60) / mappingAddedPerMinute.value;
}

/** How much later a long run ends than one at full concurrency from the start, s. */
export function rampDelaySeconds(concurrency: number): number {
  const missing = Math.max(0, concurrency - awsLimits.mappingStart.value);
  return (missing * rampSeconds(concurrency)) / (2 * concurrency);
}

/** Mean duration of a scenario's deliveries, answered or not, s. */
export function meanDeliverySeconds(scenario: Scenario): number {
  return meanOf(deliveriesOf(scenario).seconds);
}

function meanOf(values: Float64Array | Uint16Array | Uint8Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
