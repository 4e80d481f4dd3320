import { awsLimits } from './aws-limits.ts';
import { LONGEST_CALL_SECONDS, timing } from './cell-protocol.ts';
import { createLatencyTable } from './latency-table.ts';
import { DEFAULT_LANE_CONCURRENCY, stackFacts } from './stack-facts.ts';

/** A run of one config with one replicate, on one lane: a cell for each question. */
export interface Scenario {
  /** Integer, at least 1. */
  readonly questions: number;
  /** What a call takes on average if nobody cuts it off, s. */
  readonly latencySeconds: number;
  /** Standard deviation of the logarithm of the latency; 0 is a constant. */
  readonly spread: number;
  /** `maximumConcurrency` of the lane, 2..1000. */
  readonly laneConcurrency: number;
  /** Lambda's concurrency quota of the account in the region. */
  readonly accountConcurrency: number;
}

/**
 * How far latencies scatter: the slowest 1 in 100 takes 3.2 times the median. Assumed; answers of
 * reasoning models scatter more.
 */
const DEFAULT_SPREAD = 0.5;

/** What production has without changing anything. */
export const scenarioDefaults = {
  spread: DEFAULT_SPREAD,
  laneConcurrency: DEFAULT_LANE_CONCURRENCY,
  accountConcurrency: awsLimits.accountConcurrency.value,
} as const;

/** Invocations that an account leaves for one lane while the others keep theirs; below 0 for none. */
export function concurrencyLeft(accountConcurrency: number): number {
  const { otherLanesConcurrency, controlConcurrency } = stackFacts;
  const taken = awsLimits.unreservedConcurrency.value + controlConcurrency + otherLanesConcurrency;
  return accountConcurrency - taken;
}

/** The most invocations that this lane can have. */
export function concurrencyCap({ laneConcurrency, accountConcurrency }: Scenario): number {
  return Math.min(laneConcurrency, concurrencyLeft(accountConcurrency));
}

/** What an delivery may be like: one is drawn, all are equally likely. */
export interface Deliveries {
  /** Time in the function, s. */
  readonly seconds: Float64Array;
  readonly heartbeats: Uint16Array;
  /** 1 where the call would have taken too long: the delivery ends without an answer. */
  readonly isCutOff: Uint8Array;
}

/** The deliveries of a scenario. */
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
