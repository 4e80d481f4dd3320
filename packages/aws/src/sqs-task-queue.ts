import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import {
  backoffMs,
  type CellTask,
  type Clock,
  cellTaskSchema,
  type Delivery,
  limits,
  type Random,
  type TaskQueue,
  ThriceError,
} from '@thrice/core';
import { mapBounded, pagesOf } from './map-bounded.ts';
import { isNamed, mapEntryError, mapSdkError } from './map-sdk-error.ts';

/** The most messages of one request, sent, received or changed. */
const BATCH_MESSAGES = 10;
/** Requests that one call of ours has in flight at once. */
const REQUESTS_AT_ONCE = 16;
/** Tries of a batch whose entries failed one by one. */
const MAX_TRIES = 6;
const RETRY_BACKOFF = { baseMs: 100, capMs: 5_000 };
const LEASE_SECONDS = Math.ceil(limits.leaseMs / 1_000);
/**
 * The longest a message is made to wait, an hour short of what SQS allows: its 12 hours count from the
 * receive, so that a message held for a while may not be hidden for all of them.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html (2026-11)
 */
const MAX_DELAY_SECONDS = 11 * 3_600;

/** What SQS says of a receipt that is no longer valid: its message is gone or in other hands. */
const STALE_NAMES = ['InvalidParameterValue', 'MessageNotInflight', 'ReceiptHandleIsInvalid'];
const SQS_PREFIX = 'AWS.SimpleQueueService.';

/** What became of the entries of a batch. */
interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

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
export class SqsTaskQueue implements TaskQueue {
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
      await this.#sendUntilDone(lane, entries, (Entries) =>
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

  async extend(deliveries: readonly Delivery[]): Promise<void> {
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
      await this.#sendUntilDone(lane, entries, async (Entries) => {
        const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries });
        const { Successful = [], Failed = [] } = await this.#client.send(command);
        return { Successful: [...Successful, ...Failed.filter(isStale)], Failed };
      });
    });
  }

  async release({ lane, receipt }: Delivery, delayMs: number): Promise<void> {
    const VisibilityTimeout = Math.min(MAX_DELAY_SECONDS, Math.ceil(delayMs / 1_000));
    await this.#settle(lane, (QueueUrl) =>
      this.#client.send(
        new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: receipt, VisibilityTimeout }),
      ),
    );
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

  /** Sends a batch, and again the entries of it that failed, until none does. */
  async #sendUntilDone<Entry extends { readonly Id: string }>(
    lane: string,
    entries: Entry[],
    send: (entries: Entry[]) => Promise<BatchAnswer>,
  ): Promise<void> {
    let pending = entries;
    for (let tryCount = 1; ; tryCount += 1) {
      const { Successful = [], Failed = [] } = await this.#guard(lane, () => send(pending));
      const done = new Set(Successful.map(({ Id }) => Id));
      pending = pending.filter(({ Id }) => !done.has(Id));
      if (pending.length === 0) return;
      const errors = pending.map(({ Id }) =>
        mapEntryError(Failed.find((entry) => entry.Id === Id) ?? {}, storeOf(lane)),
      );
      const lasting = errors.find((error) => error.class !== 'transient');
      const final = lasting ?? (tryCount >= MAX_TRIES ? errors[0] : undefined);
      if (final !== undefined) throw final;
      await this.#clock.sleep(backoffMs(tryCount, { ...RETRY_BACKOFF, random: this.#random }));
    }
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
  // The two characters that JSON leaves as they are and SQS does not take.
  const MessageBody = JSON.stringify(task).replace(/[\uFFFE\uFFFF]/g, (character) =>
    character === '\uFFFE' ? '\\ufffe' : '\\uffff',
  );
  // Fair sharing between runs; a name that SQS does not take as a group goes without.
  const isGroupId = /^[\x21-\x7E]{1,128}$/.test(task.run);
  return { MessageBody, ...(isGroupId && { MessageGroupId: task.run }) };
}

function isStale({ Code = '' }: BatchResultErrorEntry): boolean {
  return STALE_NAMES.includes(Code.startsWith(SQS_PREFIX) ? Code.slice(SQS_PREFIX.length) : Code);
}

function storeOf(lane: string): string {
  return `queue of lane ${lane}`;
}
