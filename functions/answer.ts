import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { parseCellTask } from '@thrice/aws';
import {
  type CellResult,
  type Closure,
  type Delivery,
  executeCell,
  type Governor,
  type GroupHeader,
  groupOfRun,
  Heartbeat,
  isCounted,
  resolveBenchmark,
  type Settlement,
  ThriceError,
  type WorkerEvent,
} from '@thrice/core';
import { OpenAiModelClient } from '@thrice/models';
import { type Composition, compose } from './compose.ts';
import { askForFinalization } from './finalize-message.ts';
import {
  type BatchResponse,
  handleRecords,
  type LambdaContext,
  type SqsRecord,
} from './sqs-event.ts';
import { readApiKey } from './stage.ts';

/** Kept free at the end of an invocation, ms: to hand a cell back before Lambda kills the function. */
const RESERVE_MS = 15_000;
/** The longest delay of an SQS message, s. */
const MAX_DELAY_SECONDS = 900;
/** A parked cell looks again after this, ms. */
const PARKED_DELAY_MS = MAX_DELAY_SECONDS * 1_000;

/** Answers one cell a message. */
export async function handler(event: unknown, context: LambdaContext): Promise<BatchResponse> {
  const composition = compose();
  return await handleRecords(event, composition.log, (record) =>
    answerRecord(record, context, composition),
  );
}

async function answerRecord(
  record: SqsRecord,
  context: LambdaContext,
  composition: Composition,
): Promise<void> {
  const task = parseCellTask(record.body);
  if ('problem' in task) {
    // It comes again until its receives are used up: then it lies in the dead letters to be looked at.
    throw new ThriceError({ code: 'invalid-argument', message: task.problem });
  }
  const delivery: Delivery = {
    lane: laneOf(record, composition),
    task,
    receipt: record.receiptHandle,
  };
  const { queue } = composition;
  // From the queue's long visibility to a worker's short one: a dead worker's cell is free in a minute.
  await queue.extend([delivery]);
  const settlement = await work(delivery, context, composition);
  if (settlement.kind === 'acknowledge') await queue.acknowledge(delivery);
  else await sendAgain(delivery, settlement.delayMs, composition);
}

/** A new message, then the old one gone: a cell that waits uses up none of its receives. */
async function sendAgain(
  delivery: Delivery,
  delayMs: number,
  { sqs, stage, queue }: Composition,
): Promise<void> {
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: stage.laneQueueUrls[delivery.lane],
      MessageBody: JSON.stringify(delivery.task),
      MessageGroupId: delivery.task.run,
      DelaySeconds: Math.min(MAX_DELAY_SECONDS, Math.ceil(delayMs / 1_000)),
    }),
  );
  await queue.acknowledge(delivery);
}

function laneOf({ eventSourceARN }: SqsRecord, { stage }: Composition): string {
  const queueName = eventSourceARN.split(':').at(-1) ?? '';
  const found = Object.entries(stage.laneQueueUrls).find(([, url]) =>
    url.endsWith(`/${queueName}`),
  );
  if (found !== undefined) return found[0];
  throw new ThriceError({
    code: 'invariant-violated',
    message: `messages of ${eventSourceARN} are no lane's`,
  });
}

async function work(
  delivery: Delivery,
  context: LambdaContext,
  composition: Composition,
): Promise<Settlement> {
  const { ledger, queue, clock, blobs, log, newOwner } = composition;
  const group = await ledger.readGroup(groupOfRun(delivery.task.run));
  if (group === undefined) {
    throw new ThriceError({
      code: 'invariant-violated',
      message: `task of ${delivery.task.run}, whose group is not in the ledger`,
    });
  }
  if (group.state === 'cancelled') return { kind: 'release', delayMs: PARKED_DELAY_MS };
  const benchmark = resolveBenchmark(group.header.spec, group.header.specSource.path);
  const closures = [...(await ledger.listClosures())];
  const closureOf = (subject: string): Closure | undefined =>
    closures.find((closure) => closure.subject === subject);
  const owner = newOwner();
  const heartbeat = new Heartbeat({ ledger, queue, clock, owner });
  const results: CellResult[] = [];
  const observe = (event: WorkerEvent) => {
    if (event.kind === 'cell-completed') results.push(event.result);
    if (event.kind === 'lane-closed') closures.push(event.closure);
    log.info(event.kind, describeEvent(event));
  };
  await using models = new OpenAiModelClient({
    keyOf: ({ apiKeyEnv }) => (apiKeyEnv === undefined ? undefined : readApiKey(apiKeyEnv)),
    clock,
    // One call at a time: the standard fetch keeps its connection too, and is no part of the bundle.
    pool: { fetch, [Symbol.asyncDispose]: async () => undefined },
  });
  using _limit = stopInTime(context, heartbeat);
  const beating = new AbortController();
  const beat = heartbeat.run(beating.signal);
  try {
    const settlement = await executeCell(delivery, {
      owner,
      benchmark,
      ledger,
      blobs,
      models,
      // Concurrency is the subscription's: an invocation has one cell and one call.
      governor: singleCall,
      heartbeat,
      clock,
      random: Math.random,
      observe,
      closureOf,
    });
    if (settlement.kind === 'acknowledge') {
      await reportFailure(delivery, results.at(0), composition);
      await askIfLast(group.header, composition);
    }
    // Parked by its own lane or model only: another lane's closure must not delay this one's cells.
    const { lane, task } = delivery;
    const model = benchmark.configs.find(({ name }) => name === task.config)?.model ?? '';
    const isClosed = (closureOf(lane) ?? closureOf(`${lane}/${model}`)) !== undefined;
    const isParked = settlement.kind === 'release' && isClosed;
    return isParked ? { kind: 'release', delayMs: PARKED_DELAY_MS } : settlement;
  } finally {
    beating.abort();
    await beat;
  }
}

/** Slows nobody but its own cell: that goes back for what the vendor asks, or a second or two. */
const singleCall: Governor = {
  grant: async () => ({ waitMs: 0, [Symbol.dispose]: () => undefined }),
  slowDown: (_, retryAfterMs) => retryAfterMs ?? 1_000 + 1_000 * Math.random(),
  answered: () => undefined,
};

/** Ends the work on a cell before Lambda ends the function: its call is given up, the cell handed back. */
function stopInTime(context: LambdaContext, heartbeat: Heartbeat): Disposable {
  const timer = setTimeout(
    () => heartbeat.stopAll(new ThriceError({ code: 'interrupted', message: 'out of time' })),
    Math.max(0, context.getRemainingTimeInMillis() - RESERVE_MS),
  );
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/**
 * Puts a failed cell into the dead letters.
 *
 * Also when the cell was done already: the worker before us may have died between the two. A letter that
 * comes twice is one cell to whoever reads them.
 */
async function reportFailure(
  { lane, task }: Delivery,
  result: CellResult | undefined,
  { ledger, sqs, stage }: Composition,
): Promise<void> {
  const { run, config, id } = task;
  const known = result ?? (await ledger.readCells(run, config, [id])).get(id)?.result;
  if (known?.outcome !== 'failed') return;
  const letter = { v: 1, lane, task, error: known.error };
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: stage.deadLetterQueueUrl,
      MessageBody: JSON.stringify(letter),
    }),
  );
}

/** Asks for the results when the tallies say that this was the group's last cell. */
async function askIfLast(header: GroupHeader, composition: Composition): Promise<void> {
  const tallies = await Promise.all(header.runs.map((run) => composition.ledger.readTallies(run)));
  if (isCounted(header, tallies.flat())) await askForFinalization(header.group, composition);
}

function describeEvent(event: WorkerEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case 'cell-completed':
      return { ...event.key, outcome: event.result.outcome, latencyMs: event.result.latencyMs };
    case 'call-failed':
      return {
        ...event.key,
        class: event.error.class,
        code: event.error.code,
        waitMs: event.waitMs,
      };
    case 'lane-closed':
      return { subject: event.closure.subject, code: event.closure.error.code };
    case 'lane-waiting':
      return { subject: event.subject };
    case 'cells-taken-over':
      return { count: event.cells.length };
  }
}
