import {
  answeredCell,
  deliveredCell,
  FINALIZATION_GETS,
  FINALIZATION_PUTS,
  heartbeat,
  itemBytes,
  type ProtocolRequest,
  plannedCell,
  readRecord,
  reclaimedCell,
  releasedCell,
  sumOf,
  timing,
  UPLOAD_PART_BYTES,
} from './cell-protocol.ts';
import { type CostLine, charge, prices } from './prices.ts';
import { stackFacts } from './stack-facts.ts';

const MB_PER_GB = 1_024;
const BYTES_PER_GB = 1_024 ** 3;

/** The counts of a run, either from playing it through or by formula. */
export interface RunCounts {
  /** Tasks sent by the plan function, including those sent again. */
  readonly planned: number;
  readonly deliveries: number;
  readonly answered: number;
  /** Deliveries that ran out of time. */
  readonly released: number;
  /** Deliveries of a cell that an earlier delivery released. */
  readonly reclaimed: number;
  readonly heartbeats: number;
  /** Total duration of the answer function's invocations, s. */
  readonly answerSeconds: number;
  readonly planSeconds: number;
  /** Records read to write results or to find missing tasks. */
  readonly recordsRead: number;
  readonly finalizeSeconds: number;
  /** How often the results were written. */
  readonly finalizations: number;
}

/**
 * The cost of a run, without the model's tokens.
 *
 * @returns Lines in the order of the price list; a service may have several.
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

/** Sums a quantity over all requests of a run. */
function requestsOf(counts: RunCounts, quantity: (request: ProtocolRequest) => number): number {
  const { planned, deliveries, answered, heartbeats, released, reclaimed, recordsRead } = counts;
  return (
    planned * sumOf(plannedCell, quantity) +
    deliveries * sumOf(deliveredCell, quantity) +
    answered * sumOf(answeredCell, quantity) +
    heartbeats * sumOf(heartbeat, quantity) +
    released * sumOf(releasedCell, quantity) +
    reclaimed * sumOf(reclaimedCell, quantity) +
    recordsRead * sumOf(readRecord, quantity)
  );
}

/** Small objects and the parts of the rows' upload. */
function finalizationPuts({ answered, finalizations }: RunCounts): number {
  const parts = Math.ceil((answered * itemBytes.row) / UPLOAD_PART_BYTES);
  return finalizations * (FINALIZATION_PUTS + parts);
}

function gbSeconds(seconds: number, memoryMb: number): number {
  return (seconds * memoryMb) / MB_PER_GB;
}
