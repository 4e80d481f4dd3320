import { awsLimits } from './aws-limits.ts';
import {
  answeredCell,
  deliveredCell,
  heartbeat,
  type ProtocolRequest,
  sumOf,
  timing,
} from './cell-protocol.ts';
import { concurrencyLeft, type Scenario } from './scenario.ts';

/** A quota, and the answers a second at which one run reaches it. */
export interface QuotaRate {
  readonly name: string;
  readonly limit: number;
  readonly source: string | undefined;
  readonly answersPerSecond: number;
}

/**
 * At which rate of answers one run of one config reaches each quota, the lowest first.
 *
 * Latencies count as constant here. DynamoDB splits a partition that stays hot along its sort keys, so
 * its rows are where trouble begins and not where a run ends; a single item is never split.
 */
export function quotaRates(scenario: Scenario): readonly QuotaRate[] {
  const seconds = scenario.latencySeconds + timing.answerOverheadSeconds;
  const beats = Math.floor(scenario.latencySeconds / timing.heartbeatSeconds);
  const perAnswer = (quantity: (request: ProtocolRequest) => number) =>
    sumOf([...deliveredCell, ...answeredCell], quantity) + beats * sumOf(heartbeat, quantity);
  const atOnce = (name: string, limit: number, source?: string): QuotaRate => ({
    name,
    limit,
    source,
    answersPerSecond: limit / seconds,
  });
  const eachSecond = (
    name: string,
    { value, source }: { readonly value: number; readonly source: string },
    quantity: (request: ProtocolRequest) => number,
  ): QuotaRate => ({ name, limit: value, source, answersPerSecond: value / perAnswer(quantity) });
  const { partitionWriteUnits, partitionReadUnits, tableWriteUnits, tableReadUnits } = awsLimits;
  return [
    atOnce('the lane, `maximumConcurrency`', scenario.laneConcurrency),
    atOnce(
      "the account's concurrency: what it leaves for one lane",
      concurrencyLeft(scenario.accountConcurrency),
      awsLimits.accountConcurrency.source,
    ),
    atOnce(
      'the mapping, largest `maximumConcurrency`',
      awsLimits.mappingConcurrency.value,
      awsLimits.mappingConcurrency.source,
    ),
    atOnce(
      'messages of one queue in flight, about',
      awsLimits.inFlightMessages.value,
      awsLimits.inFlightMessages.source,
    ),
    eachSecond('write units, partition of (run, config)', partitionWriteUnits, writesTo('cells')),
    eachSecond('write units, new table', tableWriteUnits, ({ writeUnits = 0 }) => writeUnits),
    eachSecond('write units, tally of (run, config)', partitionWriteUnits, writesTo('tallies')),
    eachSecond("read units, the group's header", partitionReadUnits, readsOf('group')),
    eachSecond('read units, new table', tableReadUnits, ({ readUnits = 0 }) => readUnits),
    eachSecond('read units, list of open breakers', partitionReadUnits, readsOf('openBreakers')),
    eachSecond('GETs, prefix of the questions', awsLimits.prefixGets, ({ service }) =>
      service === 's3' ? 1 : 0,
    ),
  ].toSorted((left, right) => left.answersPerSecond - right.answersPerSecond);
}

function writesTo(target: ProtocolRequest['partition']): (request: ProtocolRequest) => number {
  return ({ partition, writeUnits = 0 }) => (partition === target ? writeUnits : 0);
}

function readsOf(target: ProtocolRequest['partition']): (request: ProtocolRequest) => number {
  return ({ partition, readUnits = 0 }) => (partition === target ? readUnits : 0);
}
