/**
 * What a cell costs in requests: every count the simulation and docs/cloud.md build on is here.
 *
 * A count is per occasion. `sender` tells the requests of our functions from those of Lambda's poller,
 * so that what the functions really send can be compared with this list, name by name.
 */

/** A group of partition keys of the table, see docs/formats.md: throughput is limited by partition. */
export type Partition = 'cells' | 'tallies' | 'group' | 'openBreakers';

/** Requests of one kind. */
export interface ProtocolRequest {
  readonly service: 'sqs' | 'dynamodb' | 's3';
  /** As the service's API calls it. */
  readonly name: string;
  readonly sender: 'plan' | 'poller' | 'answer' | 'finalize' | 'reconciler';
  readonly count: number;
  /** Write request units of one request: 1 for each KiB begun. */
  readonly writeUnits?: number;
  /** Read request units of one consistent request: 1 for each 4 KiB begun. */
  readonly readUnits?: number;
  readonly partition?: Partition;
}

/** Sizes that the units below follow from, bytes: assumed, they depend on the benchmark. */
export const itemBytes = {
  /** A group's header: the spec and its configs. */
  header: 8 * 1_024,
  /** A journal entry: the raw response of one call. */
  call: 3 * 1_024,
  /** A cell with its result. */
  cell: 2 * 1_024,
  /** A row of `cells/<config>.jsonl`. */
  row: 1_200,
} as const;

/** Every task that is planned. */
export const plannedCell: readonly ProtocolRequest[] = [
  // SendMessageBatch holds 10 tasks.
  { service: 'sqs', name: 'SendMessageBatch', sender: 'plan', count: 1 / 10 },
];

/** Every delivery, whatever becomes of it. */
export const deliveredCell: readonly ProtocolRequest[] = [
  // One message a receive: the poller may get 10 at once, nobody documents how it does.
  { service: 'sqs', name: 'ReceiveMessage', sender: 'poller', count: 1 },
  // After the function said that the message is done.
  { service: 'sqs', name: 'DeleteMessage', sender: 'poller', count: 1 },
  // From the queue's 90 minutes to the lease of a worker.
  { service: 'sqs', name: 'ChangeMessageVisibilityBatch', sender: 'answer', count: 1 },
  // The group's header.
  {
    service: 'dynamodb',
    name: 'GetItem',
    sender: 'answer',
    count: 1,
    readUnits: readUnitsOf(itemBytes.header),
    partition: 'group',
  },
  // The list of what was ever closed; short, or empty.
  {
    service: 'dynamodb',
    name: 'Query',
    sender: 'answer',
    count: 1,
    readUnits: 1,
    partition: 'openBreakers',
  },
  // The claim: a cell without a result is below 1 KiB. Refused, it costs the same.
  {
    service: 'dynamodb',
    name: 'PutItem',
    sender: 'answer',
    count: 1,
    writeUnits: 1,
    partition: 'cells',
  },
  // The question, by its byte range.
  { service: 's3', name: 'GetObject', sender: 'answer', count: 1 },
];

/** What an delivery sends besides when the model answers. */
export const answeredCell: readonly ProtocolRequest[] = [
  // The journal entry.
  {
    service: 'dynamodb',
    name: 'PutItem',
    sender: 'answer',
    count: 1,
    writeUnits: writeUnitsOf(itemBytes.call),
    partition: 'cells',
  },
  // The completion.
  {
    service: 'dynamodb',
    name: 'UpdateItem',
    sender: 'answer',
    count: 1,
    writeUnits: writeUnitsOf(itemBytes.cell),
    partition: 'cells',
  },
  // The tally of (run, config).
  {
    service: 'dynamodb',
    name: 'UpdateItem',
    sender: 'answer',
    count: 1,
    writeUnits: 1,
    partition: 'tallies',
  },
  // The tallies, to see whether it was the last cell: one request for each run of the group.
  {
    service: 'dynamodb',
    name: 'Query',
    sender: 'answer',
    count: 1,
    readUnits: 1,
    partition: 'tallies',
  },
];

/** Every beat, {@link timing.heartbeatSeconds} apart while the call lasts. */
export const heartbeat: readonly ProtocolRequest[] = [
  // The message stays hidden.
  { service: 'sqs', name: 'ChangeMessageVisibilityBatch', sender: 'answer', count: 1 },
  // The lease.
  {
    service: 'dynamodb',
    name: 'UpdateItem',
    sender: 'answer',
    count: 1,
    writeUnits: 1,
    partition: 'cells',
  },
];

/** What an delivery sends besides when its invocation runs out of time: the cell goes back. */
export const handedBackCell: readonly ProtocolRequest[] = [
  // The task, anew.
  { service: 'sqs', name: 'SendMessage', sender: 'answer', count: 1 },
  // The release: the cell as it stands, then without its lease.
  {
    service: 'dynamodb',
    name: 'GetItem',
    sender: 'answer',
    count: 1,
    readUnits: 1,
    partition: 'cells',
  },
  {
    service: 'dynamodb',
    name: 'UpdateItem',
    sender: 'answer',
    count: 1,
    writeUnits: 1,
    partition: 'cells',
  },
];

/** What an delivery sends besides when somebody had the cell before: the first claim was refused. */
export const retakenCell: readonly ProtocolRequest[] = [
  // The cell as it stands, then the claim over it.
  {
    service: 'dynamodb',
    name: 'GetItem',
    sender: 'answer',
    count: 1,
    readUnits: 1,
    partition: 'cells',
  },
  {
    service: 'dynamodb',
    name: 'UpdateItem',
    sender: 'answer',
    count: 1,
    writeUnits: 1,
    partition: 'cells',
  },
  // The journal: the answer may be there.
  {
    service: 'dynamodb',
    name: 'Query',
    sender: 'answer',
    count: 1,
    readUnits: 1,
    partition: 'cells',
  },
];

/** Every record that is read to write results, or to find out which tasks are missing. */
export const readRecord: readonly ProtocolRequest[] = [
  // BatchGetItem holds 100 keys; each item is rounded up on its own.
  {
    service: 'dynamodb',
    name: 'BatchGetItem',
    sender: 'finalize',
    count: 1 / 100,
    readUnits: 100 * readUnitsOf(itemBytes.cell),
    partition: 'cells',
  },
];

/** Objects that finalization writes beside the rows: derived files, summaries, manifest. */
export const FINALIZATION_PUTS = 8;
/** Whole files that finalization reads: the questions once, its own rows twice. */
export const FINALIZATION_GETS = 3;
/** The rows are uploaded in parts of this size, bytes. */
export const UPLOAD_PART_BYTES = 8 * 1_024 * 1_024;

/** Times, sizes and rates of the functions. */
export const timing = {
  /** What an invocation takes beside waiting for the model, s; assumed. */
  answerOverheadSeconds: 0.2,
  /** `limits.heartbeatMs`. */
  heartbeatSeconds: 20,
  /** `timeoutSeconds` of stacks/queues.ts: the most Lambda has. */
  functionTimeoutSeconds: 900,
  /** `RESERVE_MS` of functions/answer.ts: a call that lasts into it is given up. */
  answerReserveSeconds: 15,
  /** Tasks that the plan function sends a second; assumed, the budget for one machine is 67,000. */
  planCellsPerSecond: 3_000,
  /** Records that finalization reads a second; assumed: what one partition serves, 1 unit each. */
  finalizeCellsPerSecond: 3_000,
  /** `STRETCH_MS` of functions/plan.ts: then the next invocation goes on. */
  planStretchSeconds: 60,
  /** `limits.pageSize`: tasks are sent in pages. */
  pageCells: 500,
  /** Two ticks of the reconciler: a group that stands still in both is looked into. */
  reconcilerNoticeSeconds: 120,
  /** Our line 400, the metrics' 350, Lambda's own start and report 650; bytes, assumed. */
  logBytesPerDelivery: 1_400,
} as const;

/** The longest a call may take, s: then the invocation gives it up and hands the cell back. */
export const LONGEST_CALL_SECONDS = timing.functionTimeoutSeconds - timing.answerReserveSeconds;

/** Adds up a quantity over requests of one occasion. */
export function sumOf(
  requests: readonly ProtocolRequest[],
  quantity: (request: ProtocolRequest) => number,
): number {
  return requests.reduce((sum, request) => sum + request.count * quantity(request), 0);
}

/** Write units of an item of this size. */
function writeUnitsOf(bytes: number): number {
  return Math.ceil(bytes / 1_024);
}

/** Read units of a consistent read of an item of this size. */
function readUnitsOf(bytes: number): number {
  return Math.ceil(bytes / 4_096);
}
