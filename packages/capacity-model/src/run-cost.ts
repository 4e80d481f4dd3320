import {
  answeredCell,
  deliveredCell,
  FINALIZATION_GETS,
  FINALIZATION_PUTS,
  handedBackCell,
  heartbeat,
  itemBytes,
  type ProtocolRequest,
  plannedCell,
  readRecord,
  retakenCell,
  sumOf,
  timing,
  UPLOAD_PART_BYTES,
} from './cell-protocol.ts';
import { type CostLine, charge, prices } from './prices.ts';
import { stackFacts } from './stack-facts.ts';

const MB_PER_GB = 1_024;
const BYTES_PER_GB = 1_024 ** 3;

/** What happened in a run, counted by a simulation or expected by a formula. */
export interface RunCounts {
  /** Tasks sent by the plan function, those that were sent a second time among them. */
  readonly planned: number;
  readonly deliveries: number;
  readonly answered: number;
  /** Attempts that ran out of time. */
  readonly handedBack: number;
  /** Attempts on a cell that somebody had before. */
  readonly retaken: number;
  readonly heartbeats: number;
  /** Time of all invocations of the answer function, s. */
  readonly answerSeconds: number;
  readonly planSeconds: number;
  /** Records read to write results or to find missing tasks. */
  readonly recordsRead: number;
  readonly finalizeSeconds: number;
  /** Times that results were written. */
  readonly finalizations: number;
}

/**
 * What a run costs, line by line, without the model's tokens.
 *
 * @returns Lines in the order of the price list; one service may have several.
 */
export function costOfRun(counts: RunCounts): readonly CostLine[] {
  const { deliveries, planSeconds, finalizeSeconds, answerSeconds } = counts;
  const cellRequests = requestsOf(counts, (request) => (request.service === 'sqs' ? 1 : 0));
  const { planStretchSeconds, functionTimeoutSeconds } = timing;
  const controlInvocations =
    Math.ceil(planSeconds / planStretchSeconds) +
    Math.ceil(finalizeSeconds / functionTimeoutSeconds);
  return [
    charge(
      prices.lambdaCompute,
      gbSeconds(answerSeconds, stackFacts.answerMemoryMb) +
        gbSeconds(planSeconds + finalizeSeconds, stackFacts.controlMemoryMb),
    ),
    charge(prices.lambdaRequests, deliveries + controlInvocations),
    charge(prices.sqsRequests, cellRequests),
    charge(prices.sqsFairRequests, cellRequests),
    charge(
      prices.dynamoWrites,
      requestsOf(counts, ({ writeUnits = 0 }) => writeUnits),
    ),
    charge(
      prices.dynamoReads,
      requestsOf(counts, ({ readUnits = 0 }) => readUnits),
    ),
    charge(prices.s3Puts, finalizationPuts(counts)),
    charge(
      prices.s3Gets,
      requestsOf(counts, (request) => (request.service === 's3' ? 1 : 0)) +
        FINALIZATION_GETS * counts.finalizations,
    ),
    charge(prices.logIngestion, (deliveries * timing.logBytesPerDelivery) / BYTES_PER_GB),
  ];
}

/** A quantity of every request of a run. */
function requestsOf(counts: RunCounts, quantity: (request: ProtocolRequest) => number): number {
  const { planned, deliveries, answered, heartbeats, handedBack, retaken, recordsRead } = counts;
  return (
    planned * sumOf(plannedCell, quantity) +
    deliveries * sumOf(deliveredCell, quantity) +
    answered * sumOf(answeredCell, quantity) +
    heartbeats * sumOf(heartbeat, quantity) +
    handedBack * sumOf(handedBackCell, quantity) +
    retaken * sumOf(retakenCell, quantity) +
    recordsRead * sumOf(readRecord, quantity)
  );
}

/** Small objects, and the parts of the rows. */
function finalizationPuts({ answered, finalizations }: RunCounts): number {
  const parts = Math.ceil((answered * itemBytes.row) / UPLOAD_PART_BYTES);
  return finalizations * (FINALIZATION_PUTS + parts);
}

function gbSeconds(seconds: number, memoryMb: number): number {
  return (seconds * memoryMb) / MB_PER_GB;
}
