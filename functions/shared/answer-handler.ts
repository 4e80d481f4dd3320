import { randomUUID } from 'node:crypto';
import { parseCellTask } from '@thrice/aws';
import {
  backoffMs,
  type Delivery,
  Heartbeat,
  processTask,
  type Settlement,
  type TaskWorker,
  ThriceError,
  toThriceError,
  type WorkerEvent,
} from '@thrice/core';
import { type ModelClients, openModelClients } from '@thrice/models';
import { type Composition, compose } from './compose.ts';
import { invocationGovernor } from './invocation-governor.ts';
import { describeThrown, type Log, openLog } from './log.ts';
import { countEvent } from './metrics.ts';
import {
  type BatchResponse,
  handleRecords,
  type LambdaContext,
  type SqsRecord,
} from './sqs-event.ts';
import { readApiKey } from './stage.ts';

/** Kept free at the end of an invocation, ms: to hand a cell back before Lambda kills the function. */
const RESERVE_MS = 15_000;
/** How long a message that is no task stays away: its receives outlast a deployment of newer code. */
const POISON_DELAY_MS = 10_000;
/** How long a task stays away when a store does not serve it: its receives outlast an hour's outage. */
const STORE_BACKOFF = { baseMs: 30_000, capMs: 900_000 };

/** Solvers and scorers in the place of the built-in ones. */
export type Extensions = Pick<TaskWorker, 'solvers' | 'scorers'>;

/** A Lambda handler of SQS events. */
export type Handler = (event: unknown, context: LambdaContext) => Promise<BatchResponse>;

/**
 * The handler of the answer function: one cell per message.
 *
 * @param extensions - Solvers and scorers. @default the built-in ones
 */
export function createAnswerHandler(extensions: Extensions = {}): Handler {
  return async (event, context) => {
    const composition = compose();
    const log = openLog('answer', context);
    return await handleRecords(event, log, (record) =>
      answerRecord(record, { context, composition, log, extensions }),
    );
  };
}

interface Invocation {
  readonly extensions: Extensions;
  readonly context: LambdaContext;
  readonly composition: Composition;
  readonly log: Log;
}

/**
 * Answers the task of a message. One that has to wait goes as a new message, for a message that comes
 * back has used up one of its receives; one whose work failed comes back, to be made up for.
 */
async function answerRecord(record: SqsRecord, invocation: Invocation): Promise<void> {
  const { queue } = invocation.composition;
  const delivery = await readDelivery(record, invocation.composition);
  const { lane, task } = delivery;
  try {
    const settlement = await answer(delivery, record, invocation);
    if (settlement.kind === 'release') await queue.sendLater(lane, task, settlement.delayMs);
  } catch (thrown) {
    if (isOfStore(toThriceError(thrown))) await backOff(delivery, record, queue);
    throw thrown;
  }
}

/** Keeps the message away for a while, longer each time; where that fails its lease has to run out. */
async function backOff(
  delivery: Delivery,
  { attributes }: SqsRecord,
  queue: Composition['queue'],
): Promise<void> {
  const receiveCount = attributes.ApproximateReceiveCount;
  const delayMs = backoffMs(receiveCount, { ...STORE_BACKOFF, random: Math.random });
  await queue.release(delivery, delayMs).catch(() => undefined);
}

/** @throws {ThriceError} `invalid-argument` for a message that is no task: it ends in the DLQ. */
async function readDelivery(record: SqsRecord, { stage, queue }: Composition): Promise<Delivery> {
  const lane = laneOf(record, stage.laneQueueUrls);
  const receipt = record.receiptHandle;
  const task = parseCellTask(record.body);
  if (!('problem' in task)) return { lane, task, receipt };
  await queue.release({ lane, receipt }, POISON_DELAY_MS);
  throw new ThriceError({ code: 'invalid-argument', message: task.problem });
}

function laneOf(
  { eventSourceARN }: SqsRecord,
  laneQueueUrls: Readonly<Record<string, string>>,
): string {
  const queueName = eventSourceARN.split(':').at(-1) ?? '';
  const found = Object.entries(laneQueueUrls).find(([, url]) => url.endsWith(`/${queueName}`));
  if (found !== undefined) return found[0];
  throw new ThriceError({
    code: 'invariant-violated',
    message: `messages of ${eventSourceARN} are no lane's`,
  });
}

async function answer(
  delivery: Delivery,
  { attributes }: SqsRecord,
  { context, composition, log, extensions }: Invocation,
): Promise<Settlement> {
  const { queue, ledger, clock } = composition;
  // From the queue's long visibility to a worker's short one: a dead worker's cell is free in a minute.
  await queue.extend([delivery]);
  if (context.getRemainingTimeInMillis() <= RESERVE_MS) return { kind: 'release', delayMs: 0 };
  const owner = randomUUID();
  const onFailure = (thrown: unknown) => log.error('beat failed', describeThrown(thrown));
  const heartbeat = new Heartbeat({ ledger, queue, clock, owner, onFailure });
  await using models = openModels(composition);
  using _limit = stopInTime(context, heartbeat);
  const beating = new AbortController();
  const beat = heartbeat.run(beating.signal);
  try {
    return await processTask(delivery, attributes.ApproximateReceiveCount > 1, {
      ...composition,
      owner,
      clientFor: models.clientFor,
      heartbeat,
      governor: invocationGovernor,
      ...extensions,
      random: Math.random,
      hasTimeFor: (durationMs) => context.getRemainingTimeInMillis() - RESERVE_MS > durationMs,
      observe: (event) => {
        log.info(event.kind, describeEvent(event));
        countEvent(event, delivery.lane);
      },
    });
  } finally {
    beating.abort();
    await beat;
  }
}

function openModels({ clock }: Composition): ModelClients {
  return openModelClients({
    keyOf: ({ apiKeyEnv }) => (apiKeyEnv === undefined ? undefined : readApiKey(apiKeyEnv)),
    clock,
    // One call at a time: the standard fetch keeps its connection too, and is not part of the bundle.
    pool: { fetch, [Symbol.asyncDispose]: async () => undefined },
  });
}

/** Ends the work on a cell before Lambda ends the function: its call is given up, the cell handed back. */
function stopInTime(context: LambdaContext, heartbeat: Heartbeat): Disposable {
  const timer = setTimeout(
    () => heartbeat.stopAll(new ThriceError({ code: 'interrupted', message: 'out of time' })),
    context.getRemainingTimeInMillis() - RESERVE_MS,
  );
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

function isOfStore({ code }: ThriceError): boolean {
  return code === 'store-unavailable' || code === 'store-unusable';
}

function describeEvent(event: WorkerEvent): Readonly<Record<string, unknown>> {
  switch (event.kind) {
    case 'cell-completed':
      return { ...event.key, outcome: event.result.outcome, latencyMs: event.result.latencyMs };
    case 'call-failed': {
      const { class: errorClass, code } = event.error;
      return { ...event.key, class: errorClass, code, waitMs: event.waitMs };
    }
    case 'breaker-opened':
      return { breakerKey: event.breaker.breakerKey, code: event.breaker.error.code };
    case 'breaker-waiting':
      return { breakerKey: event.breakerKey };
    case 'stalled':
      return { cellCount: event.cellCount, forMs: event.forMs };
    case 'cells-taken-over':
      return { count: event.cells.length };
  }
}
