import { awsLimits } from './aws-limits.ts';
import { LONGEST_CALL_SECONDS, timing } from './cell-protocol.ts';
import { createLatencyTable } from './latency-table.ts';
import { DEFAULT_LANE_CONCURRENCY, stackFacts } from './stack-facts.ts';

/** A run of one config with one replicate on one lane: one cell per question. */
export interface Scenario {
  /** Integer, at least 1. */
  readonly questions: number;
  /** Mean duration of a call that no timeout cuts off, s. */
  readonly latencySeconds: number;
  /** Standard deviation of the logarithm of the latency; 0 is a constant. */
  readonly spread: number;
  /** `maximumConcurrency` of the lane, 2..1000. */
  readonly laneConcurrency: number;
  /** Lambda's concurrency quota of the account in the region. */
  readonly accountConcurrency: number;
}

/** Assumed: the slowest 1% of calls take 3.2 times the median. Reasoning models vary more. */
const DEFAULT_SPREAD = 0.5;

/** The settings of an unchanged production stage. */
export const scenarioDefaults = {
  spread: DEFAULT_SPREAD,
  laneConcurrency: DEFAULT_LANE_CONCURRENCY,
  accountConcurrency: awsLimits.accountConcurrency.value,
} as const;

/** Concurrency that an account leaves for one lane while the others keep theirs; negative if it is short. */
export function concurrencyLeft(accountConcurrency: number): number {
  const { otherLanesConcurrency, controlConcurrency } = stackFacts;
  const reserved =
    awsLimits.unreservedConcurrency.value + controlConcurrency + otherLanesConcurrency;
  return accountConcurrency - reserved;
}

/** The most concurrent invocations that the lane can have. */
export function concurrencyCap({ laneConcurrency, accountConcurrency }: Scenario): number {
  return Math.min(laneConcurrency, concurrencyLeft(accountConcurrency));
}

/** The possible deliveries of a scenario, all equally likely. */
export interface Deliveries {
  /** Time in the function, s. */
  readonly seconds: Float64Array;
  readonly heartbeats: Uint16Array;
  /** 1 where the call takes too long: the delivery ends without an answer. */
  readonly isCutOff: Uint8Array;
}

/** The possible deliveries of a scenario. */
export function deliveriesOf({ latencySeconds, spread }: Scenario): Deliveries {
  const latencies = createLatencyTable(latencySeconds, spread);
  const { answerOverheadSeconds, heartbeatSeconds } = timing;
  const calls = latencies.map((latency) => Math.min(latency, LONGEST_CALL_SECONDS));
  return {
    seconds: calls.map((call) => call + answerOverheadSeconds),
    heartbeats: Uint16Array.from(calls, (call) => Math.floor(call / heartbeatSeconds)),
    isCutOff: Uint8Array.from(latencies, (latency) => (latency > LONGEST_CALL_SECONDS ? 1 : 0)),
  };
}
