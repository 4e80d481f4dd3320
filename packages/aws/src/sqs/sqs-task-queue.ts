import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import {
  type CellTask,
  type Clock,
  cellTaskSchema,
  type Delivery,
  limits,
  mapBounded,
  pagesOf,
  type Random,
  type TaskCounter,
  type TaskQueue,
  ThriceError,
} from '@thrice/core';
import { isNamed, mapSdkError } from '../map-sdk-error.ts';
import { countMessages } from './count-messages.ts';
import { toMessageText } from './message-text.ts';
import { BATCH_MESSAGES, forgiveStale, STALE_NAMES, sendBatch } from './send-batch.ts';

/** Requests that one call of ours has in flight at once. */
const REQUESTS_AT_ONCE = 16;
const LEASE_SECONDS = Math.ceil(limits.leaseMs / 1_000);
/**
 * The longest a message is made to wait, an hour short of what SQS allows: its 12 hours count from the
 * receive, so that a message held for a while may not be hidden for all of them.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html (2026-11)
 */
const MAX_DELAY_SECONDS = 11 * 3_600;

/**
 * The longest delay of a message that is sent.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html (2026-11)
 */
const MAX_SEND_DELAY_SECONDS = 900;

/** A message that is no task of ours, or of a newer version. */
export interface PoisonMessage {
  readonly lane: string;
  readonly messageId: string | undefined;
  /** What is wrong with it; never what it says. */
  readonly problem: string;
}

/**
 * Tasks in SQS, one standard queue per lane.
 *
 * A message: visible --receive--> held --release--> visible later; --acknowledge--> gone. Held messages
 * are visible again when their time runs out; after the queue's receive limit SQS moves them to the DLQ.
 *
 * A message that is no task is reported and left alone, to end in the DLQ.
 */
export class SqsTaskQueue implements TaskQueue, TaskCounter {
  readonly #client: SQSClient;
  readonly #queueUrls: ReadonlyMap<string, string>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onPoison: (poison: PoisonMessage) => void;

  constructor(init: {
    /** Its retries stay on: they wait out throttling. */
    readonly client: SQSClient;
    /** By lane. */
    readonly queueUrls: ReadonlyMap<string, string>;
    readonly clock: Clock;
    readonly random: Random;
    readonly onPoison: (poison: PoisonMessage) => void;
  }) {
    this.#client = init.client;
    this.#queueUrls = init.queueUrls;
    this.#clock = init.clock;
    this.#random = init.random;
    this.#onPoison = init.onPoison;
  }

  async send(lane: string, tasks: readonly CellTask[]): Promise<void> {
    const QueueUrl = this.#urlOf(lane);
    await mapBounded(pagesOf(tasks, BATCH_MESSAGES), REQUESTS_AT_ONCE, async (page) => {
      const entries = page.map((task, index) => ({ Id: String(index), ...toMessage(task) }));
      await this.#sendBatch(lane, entries, (Entries) =>
        this.#client.send(new SendMessageBatchCommand({ QueueUrl, Entries })),
      );
    });
  }

  async receive(lane: string, max: number): Promise<readonly Delivery[]> {
    const first = await this.#receivePage(lane, Math.min(max, BATCH_MESSAGES));
    // The queue is as good as empty: what else there may be is found by the next receive.
    if (first.length < BATCH_MESSAGES) return this.#toDeliveries(lane, first);
    const sizes = pagesOf(Array.from({ length: max - first.length }), BATCH_MESSAGES);
    const rest = await mapBounded(sizes, REQUESTS_AT_ONCE, async ({ length }) => {
      try {
        return await this.#receivePage(lane, length);
      } catch (error) {
        // What has been received already must not be lost to a request that failed beside it.
        if (error instanceof ThriceError && error.class === 'transient') return [];
        throw error;
      }
    });
    return this.#toDeliveries(lane, [...first, ...rest.flat()]);
  }

  async #receivePage(lane: string, max: number): Promise<readonly Message[]> {
    const { Messages = [] } = await this.#guard(lane, (QueueUrl) =>
      this.#client.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: max,
          VisibilityTimeout: LEASE_SECONDS,
          WaitTimeSeconds: 0,
        }),
      ),
    );
    return Messages;
  }

  #toDeliveries(lane: string, messages: readonly Message[]): readonly Delivery[] {
    return messages.flatMap(({ Body, MessageId, ReceiptHandle }): Delivery[] => {
      const task = parseCellTask(Body ?? '');
      if (!('problem' in task)) return [{ lane, task, receipt: ReceiptHandle ?? '' }];
      this.#onPoison({ lane, messageId: MessageId, problem: task.problem });
      return [];
    });
  }

  async extend(deliveries: readonly Pick<Delivery, 'lane' | 'receipt'>[]): Promise<void> {
    const byLane = Map.groupBy(deliveries, ({ lane }) => lane);
    const pages = [...byLane].flatMap(([lane, held]) =>
      pagesOf(held, BATCH_MESSAGES).map((page) => ({ lane, page })),
    );
    await mapBounded(pages, REQUESTS_AT_ONCE, async ({ lane, page }) => {
      const entries = page.map(({ receipt }, index) => ({
        Id: String(index),
        ReceiptHandle: receipt,
        VisibilityTimeout: LEASE_SECONDS,
      }));
      const QueueUrl = this.#urlOf(lane);
      await this.#sendBatch(lane, entries, async (Entries) => {
        const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries });
        return forgiveStale(await this.#client.send(command));
      });
    });
  }

  async release(
    { lane, receipt }: Pick<Delivery, 'lane' | 'receipt'>,
    delayMs: number,
  ): Promise<void> {
    const VisibilityTimeout = Math.min(MAX_DELAY_SECONDS, Math.ceil(delayMs / 1_000));
    await this.#settle(lane, (QueueUrl) =>
      this.#client.send(
        new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: receipt, VisibilityTimeout }),
      ),
    );
  }

  /**
   * Sends a task that is visible after a while; in the place of a delivery it uses up no receives.
   *
   * @param delayMs - Rounded up to whole seconds, cut to 15 minutes.
   */
  async sendLater(lane: string, task: CellTask, delayMs: number): Promise<void> {
    const DelaySeconds = Math.min(MAX_SEND_DELAY_SECONDS, Math.ceil(delayMs / 1_000));
    await this.#guard(lane, (QueueUrl) =>
      this.#client.send(new SendMessageCommand({ QueueUrl, DelaySeconds, ...toMessage(task) })),
    );
  }

  async countTasks(lane: string): Promise<number> {
    return await countMessages(this.#client, this.#urlOf(lane), storeOf(lane));
  }

  async acknowledge({ lane, receipt }: Delivery): Promise<void> {
    await this.#settle(lane, (QueueUrl) =>
      this.#client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receipt })),
    );
  }

  async #settle(lane: string, send: (queueUrl: string) => Promise<unknown>): Promise<void> {
    await this.#guard(lane, async (queueUrl) => {
      try {
        await send(queueUrl);
      } catch (error) {
        if (!isNamed(error, ...STALE_NAMES)) throw error;
      }
    });
  }

  async #sendBatch<Entry extends { readonly Id: string }>(
    lane: string,
    entries: readonly Entry[],
    send: Parameters<typeof sendBatch<Entry>>[1],
  ): Promise<void> {
    const around = { store: storeOf(lane), clock: this.#clock, random: this.#random };
    await sendBatch(entries, send, around);
  }

  async #guard<T>(lane: string, send: (queueUrl: string) => Promise<T>): Promise<T> {
    const queueUrl = this.#urlOf(lane);
    try {
      return await send(queueUrl);
    } catch (error) {
      throw mapSdkError(error, storeOf(lane));
    }
  }

  #urlOf(lane: string): string {
    const queueUrl = this.#queueUrls.get(lane);
    if (queueUrl !== undefined) return queueUrl;
    throw new ThriceError({
      code: 'store-unusable',
      message: `${storeOf(lane)}: expected one of ${[...this.#queueUrls.keys()].join(', ')}; deploy the lane first`,
    });
  }
}

/** Reads a message's body: a task, or what is wrong with it. */
export function parseCellTask(body: string): CellTask | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { problem: `expected JSON, received ${body.length} characters of something else` };
  }
  const parsed = cellTaskSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path }) => path.join('.') || '(message)');
  return {
    problem: `expected a task of version 1, received something else in ${paths.join(', ')}`,
  };
}

function toMessage(task: CellTask): { MessageBody: string; MessageGroupId?: string } {
  const MessageBody = toMessageText(task);
  // Fair sharing between runs; a name that SQS does not take as a group goes without.
  const isGroupId = /^[\x21-\x7E]{1,128}$/.test(task.run);
  return { MessageBody, ...(isGroupId && { MessageGroupId: task.run }) };
}

function storeOf(lane: string): string {
  return `queue of lane ${lane}`;
}
