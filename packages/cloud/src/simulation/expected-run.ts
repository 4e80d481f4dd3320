import { awsLimits } from './aws-limits.ts';
import { timing } from './cell-protocol.ts';
import type { RunCounts } from './run-cost.ts';
import { attemptsOf, concurrencyCap, type Scenario } from './scenario.ts';

/** What formulas say of a run. */
export interface ExpectedRun {
  readonly wallSeconds: number;
  readonly counts: RunCounts;
}

/**
 * A run by formula: `wall = attempts * seconds / concurrency + ramp + cells / finalization rate`.
 *
 * Holds for many more cells than concurrency, for then the end, at which some slots wait for the
 * slowest calls, is short beside the rest; and as long as no message expires.
 */
export function expectRun(scenario: Scenario): ExpectedRun {
  const { questions } = scenario;
  const { seconds, heartbeats, isCutOff } = attemptsOf(scenario);
  const attempts = questions / (1 - meanOf(isCutOff));
  const cap = concurrencyCap(scenario);
  const counts: RunCounts = {
    planned: questions,
    attempts,
    answered: questions,
    handedBack: attempts - questions,
    retaken: attempts - questions,
    heartbeats: attempts * meanOf(heartbeats),
    answerSeconds: attempts * meanOf(seconds),
    planSeconds: questions / timing.planCellsPerSecond,
    recordsRead: questions,
    finalizeSeconds: questions / timing.finalizeCellsPerSecond,
    finalizations: 1,
  };
  const workSeconds = counts.answerSeconds / cap;
  return { counts, wallSeconds: workSeconds + rampDelaySeconds(cap) + counts.finalizeSeconds };
}

/** How long a mapping takes to its full concurrency while there are messages, s. */
export function rampSeconds(concurrency: number): number {
  const { mappingStart, mappingAddedPerMinute } = awsLimits;
  return (Math.max(0, concurrency - mappingStart.value) * 60) / mappingAddedPerMinute.value;
}

/** How much later a long run ends than one at full concurrency from the start, s: the area lost. */
export function rampDelaySeconds(concurrency: number): number {
  const missing = Math.max(0, concurrency - awsLimits.mappingStart.value);
  return (missing * rampSeconds(concurrency)) / (2 * concurrency);
}

/** The mean of a scenario's attempts, answered or not, s. */
export function meanAttemptSeconds(scenario: Scenario): number {
  return meanOf(attemptsOf(scenario).seconds);
}

function meanOf(values: Float64Array | Uint16Array | Uint8Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
