/**
 * The requests that a cell costs. Every request count in the capacity model and docs/cloud.md comes
 * from here.
 *
 * Counts are per event: a task planned, a delivery, an answer, a heartbeat. `sender` separates the
 * requests of our functions from those of Lambda's poller, so that a test can compare the requests the
 * functions really send with this list, name by name.
 */

/** A group of the table's partition keys (docs/formats.md). DynamoDB limits throughput per partition. */
export type Partition = 'cells' | 'tallies' | 'group' | 'budget' | 'slots';

/** The partitions that share the cells and calls of a config in a run (docs/formats.md). */
export const CELL_PARTITIONS = 16;

/** Requests of one kind. */
export interface ProtocolRequest {
  readonly service: 'sqs' | 'dynamodb' | 's3';
  /** The name of the API operation. */
  readonly name: string;
  readonly sender: 'plan' | 'poller' | 'answer' | 'finalize' | 'reconciler';
  readonly count: number;
  /** Write request units of one request: 1 per KiB, rounded up. */
  readonly writeUnits?: number;
  /** Read request units of one consistent read: 1 per 4 KiB, rounded up. */
  readonly readUnits?: number;
  readonly partition?: Partition;
}

/** Item sizes behind the units below, bytes. Assumed: they depend on the benchmark. */
export const itemBytes = {
  /** A group's header: the spec and its configs. */
  header: 8 * 1_024,
  /** A journal entry: the raw response of one call. */
  call: 3 * 1_024,
  /** A cell with its result. */
  cell: 2 * 1_024,
  /** The accounts of a budget. */
  accounts: 400,
  /** The reservation of a call, in the same item. */
  reservation: 180,
  /** The groups of a lane with `max_concurrency`, and what is counted of them. */
  laneSlots: 500,
  /** The slot of a call, in the same item. */
  slot: 26,
  /** A row of `cells/<config>.jsonl`. */
  row: 1_200,
} as const;

/** Requests per planned task: a batch holds 10. */
export const plannedCell: readonly ProtocolRequest[] = [sqs('SendMessageBatch', 'plan', 1 / 10)];

/** Requests per delivery, whatever its outcome. */
export const deliveredCell: readonly ProtocolRequest[] = [
  // One message per receive: the poller may receive up to 10 at once, but AWS does not document when.
  sqs('ReceiveMessage', 'poller'),
  // After the function has reported success.
  sqs('DeleteMessage', 'poller'),
  // Shortens the visibility timeout from the queue's 90 minutes to a worker's lease.
  sqs('ChangeMessageVisibilityBatch', 'answer'),
  // The group, the breakers of its lane and its model, and the lane's pace. Left out within two seconds of the last one
  // in the same process. The first one also reads the group alone, for its header.
  dynamo('BatchGetItem', 'group', { readUnits: readUnitsOf(itemBytes.header) + 3 }),
  // The claim: a cell without a result is below 1 KiB. A refused claim costs the same.
  dynamo('PutItem', 'cells', { writeUnits: 1 }),
  // The question, by its byte range.
  { service: 's3', name: 'GetObject', sender: 'answer', count: 1 },
];

/** Additional requests of a delivery whose call is answered. */
export const answeredCell: readonly ProtocolRequest[] = [
  // The journal entry.
  dynamo('PutItem', 'cells', { writeUnits: writeUnitsOf(itemBytes.call) }),
  // The completion.
  dynamo('UpdateItem', 'cells', { writeUnits: writeUnitsOf(itemBytes.cell) }),
  // The tally of (run, config); its response tells whether this was the last cell.
  dynamo('UpdateItem', 'tallies', { writeUnits: 1 }),
];

/** Additional requests of a call under a budget: one to reserve it, one to settle it. */
export function budgetedCall(inFlightCount: number): readonly ProtocolRequest[] {
  const bytes = itemBytes.accounts + inFlightCount * itemBytes.reservation;
  return [{ ...dynamo('UpdateItem', 'budget', { writeUnits: writeUnitsOf(bytes) }), count: 2 }];
}

/** Additional requests of a call on a lane with `max_concurrency`: one to take its slot, one to return it, one if it waits. */
export function limitedCall(inFlightCount: number, isWaiting: boolean): readonly ProtocolRequest[] {
  const bytes = itemBytes.laneSlots + inFlightCount * itemBytes.slot;
  const write = dynamo('UpdateItem', 'slots', { writeUnits: writeUnitsOf(bytes) });
  return [{ ...write, count: isWaiting ? 3 : 2 }];
}

/** Requests per heartbeat, one every {@link timing.heartbeatSeconds} of a call: the message stays hidden, the lease is extended. */
export const heartbeat: readonly ProtocolRequest[] = [
  sqs('ChangeMessageVisibilityBatch', 'answer'),
  dynamo('UpdateItem', 'cells', { writeUnits: 1 }),
];

/** Additional requests of a delivery whose invocation runs out of time: it sends the task again and removes its lease. */
export const releasedCell: readonly ProtocolRequest[] = [
  sqs('SendMessage', 'answer'),
  dynamo('GetItem', 'cells', { readUnits: 1 }),
  dynamo('UpdateItem', 'cells', { writeUnits: 1 }),
];

/** Additional requests of a delivery that claims a released cell: a read, a claim on condition, and the journal. */
export const reclaimedCell: readonly ProtocolRequest[] = [
  dynamo('GetItem', 'cells', { readUnits: 1 }),
  dynamo('UpdateItem', 'cells', { writeUnits: 1 }),
  dynamo('Query', 'cells', { readUnits: 1 }),
];

/** Requests per record read to write results: a BatchGetItem holds 100 keys, and each item is rounded up on its own. */
export const readRecord: readonly ProtocolRequest[] = [
  {
    ...dynamo('BatchGetItem', 'cells', { readUnits: 100 * readUnitsOf(itemBytes.cell) }),
    sender: 'finalize',
    count: 1 / 100,
  },
];

/** Objects that finalization writes besides the rows: derived files, summaries, manifest. */
export const FINALIZATION_PUTS = 8;
/** Whole files that finalization reads: the questions once, its own rows twice. */
export const FINALIZATION_GETS = 3;
/** Part size of the rows' multipart upload, bytes. */
export const UPLOAD_PART_BYTES = 8 * 1_024 * 1_024;

/** Durations, sizes and rates of the functions. */
export const timing = {
  /** Time an invocation takes besides waiting for the model, s; assumed. */
  answerOverheadSeconds: 0.2,
  /** `limits.heartbeatMs`. */
  heartbeatSeconds: 20,
  /** `timeoutSeconds` of stacks/queues.ts: Lambda's maximum. */
  functionTimeoutSeconds: 900,
  /** `RESERVE_MS` of functions/shared/answer-handler.ts: a call still running then is aborted. */
  answerReserveSeconds: 15,
  /** Tasks that the plan function sends per second; assumed. One machine's budget is 67,000. */
  planCellsPerSecond: 3_000,
  /** Records that finalization reads per second; assumed: what one of 16 partitions allows at 1 unit each. */
  finalizeCellsPerSecond: 3_000,
  /** How long an invocation plans or writes results before the next one continues, s. */
  stretchSeconds: 60,
  /** Our log line 400, metrics 350, Lambda's START and REPORT 650; bytes, assumed. */
  logBytesPerDelivery: 1_400,
} as const;

/** The longest a call may take, s: then the invocation aborts it and releases the cell. */
export const LONGEST_CALL_SECONDS = timing.functionTimeoutSeconds - timing.answerReserveSeconds;

/** Sums a quantity over the requests of one event. */
export function sumOf(
  requests: readonly ProtocolRequest[],
  quantity: (request: ProtocolRequest) => number,
): number {
  return requests.reduce((sum, request) => sum + request.count * quantity(request), 0);
}

/** Write units for an item of this size. */
function writeUnitsOf(bytes: number): number {
  return Math.ceil(bytes / 1_024);
}

/** Read units for a consistent read of an item of this size. */
function readUnitsOf(bytes: number): number {
  return Math.ceil(bytes / 4_096);
}

function sqs(name: string, sender: ProtocolRequest['sender'], count = 1): ProtocolRequest {
  return { service: 'sqs', name, sender, count };
}

function dynamo(
  name: string,
  partition: Partition,
  units: Pick<ProtocolRequest, 'readUnits' | 'writeUnits'>,
): ProtocolRequest {
  return { service: 'dynamodb', name, sender: 'answer', count: 1, partition, ...units };
}
