import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import {
  type Clock,
  type DlqEntry,
  type DlqScan,
  mapBounded,
  pagesOf,
  type Random,
  ThriceError,
} from '@thrice/core';
import { mapSdkError } from '../map-sdk-error.ts';
import { countMessages } from './count-messages.ts';
import { parseDlqMessage } from './parse-dlq-message.ts';
import { BATCH_MESSAGES, forgiveStale, sendBatch } from './send-batch.ts';

const STORE = 'dead-message queue';
/** How long a message is hidden: what a killed process had in flight is back after this. */
const VISIBILITY_SECONDS = 300;
/** Less than this left, ms, and a message is hidden anew. */
const EXTEND_MS = (VISIBILITY_SECONDS * 1_000) / 2;
/** Long enough for SQS to ask all of its servers instead of a few. */
const WAIT_SECONDS = 1;
/** Receives in a row without anything new, before the queue is taken to have no more. */
const QUIET_RECEIVES = 3;
/** Requests that one call of ours has in flight at once. */
const REQUESTS_AT_ONCE = 16;

/** A message in our hands, by the receipt that is valid for it. */
interface Held {
  readonly receipt: string;
  readonly hiddenUntilMs: number;
}

/**
 * One look through the stage's dead-message queue.
 *
 * A message: unseen --receive--> held --remove--> gone; held --dispose--> visible to others again.
 *
 * Held messages are hidden anew as long as the scan goes on, so that a receive brings others. A standard
 * queue may hand one out twice all the same, even one that was deleted: it is not handed on again, and
 * deleted again if it was.
 */
export class SqsDlqScan implements DlqScan {
  readonly #client: SQSClient;
  readonly #queueUrl: string;
  readonly #laneQueueUrls: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #random: Random;
  /** By message id, those hidden the longest ago first. */
  readonly #held = new Map<string, Held>();
  readonly #removed = new Set<string>();
  #countedAtStart = 0;

  constructor(init: {
    /** Its retries stay on: they wait out throttling. */
    readonly client: SQSClient;
    readonly queueUrl: string;
    /** By lane. */
    readonly laneQueueUrls: Readonly<Record<string, string>>;
    readonly clock: Clock;
    readonly random: Random;
  }) {
    this.#client = init.client;
    this.#queueUrl = init.queueUrl;
    this.#laneQueueUrls = init.laneQueueUrls;
    this.#clock = init.clock;
    this.#random = init.random;
  }

  async *pages(stop: AbortSignal): AsyncIterable<readonly DlqEntry[]> {
    this.#countedAtStart = await countMessages(this.#client, this.#queueUrl, STORE);
    let quiet = 0;
    while (quiet < QUIET_RECEIVES && !stop.aborted) {
      await this.#hideAnew();
      const page = await this.#receive();
      quiet = page.length === 0 ? quiet + 1 : 0;
      if (page.length === 0) continue;
      yield page.map((message) => parseDlqMessage(message, this.#laneQueueUrls));
    }
  }

  get unseenCount(): number {
    return Math.max(0, this.#countedAtStart - this.#held.size - this.#removed.size);
  }

  async remove(entries: readonly DlqEntry[]): Promise<void> {
    await this.#delete(entries.map(({ messageId }) => messageId));
  }

  /** Gives back what is held; what cannot be given back comes back by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    const held = [...this.#held.keys()];
    try {
      await this.#changeVisibility(held, 0);
    } catch (error) {
      // Thrown here it would hide why the scan itself has failed.
      if (!(error instanceof ThriceError) || error.class === 'internal') throw error;
    }
    this.#held.clear();
  }

  /** The next messages that nobody has been handed yet. */
  async #receive(): Promise<readonly Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#queueUrl,
      MaxNumberOfMessages: BATCH_MESSAGES,
      VisibilityTimeout: VISIBILITY_SECONDS,
      WaitTimeSeconds: WAIT_SECONDS,
      MessageSystemAttributeNames: ['SentTimestamp', 'DeadLetterQueueSourceArn'],
    });
    const hiddenUntilMs = this.#clock.now() + VISIBILITY_SECONDS * 1_000;
    const { Messages: messages = [] } = await this.#client.send(command).catch((error: unknown) => {
      throw mapSdkError(error, STORE);
    });
    const removed: string[] = [];
    const fresh = messages.filter(({ MessageId: messageId = '', ReceiptHandle: receipt = '' }) => {
      const isHeld = this.#held.delete(messageId);
      this.#held.set(messageId, { receipt, hiddenUntilMs });
      if (this.#removed.has(messageId)) removed.push(messageId);
      return !isHeld && !this.#removed.has(messageId);
    });
    await this.#delete(removed);
    return fresh;
  }

  async #delete(messageIds: readonly string[]): Promise<void> {
    const held = messageIds.filter((messageId) => this.#held.has(messageId));
    await this.#forPages(held, async (entries) => {
      const command = new DeleteMessageBatchCommand({ QueueUrl: this.#queueUrl, Entries: entries });
      return forgiveStale(await this.#client.send(command));
    });
    for (const messageId of held) {
      this.#held.delete(messageId);
      this.#removed.add(messageId);
    }
  }

  /** Hides those anew that would soon be visible again. */
  async #hideAnew(): Promise<void> {
    const nowMs = this.#clock.now();
    const due: string[] = [];
    for (const [messageId, { hiddenUntilMs }] of this.#held) {
      if (hiddenUntilMs - nowMs >= EXTEND_MS) break;
      due.push(messageId);
    }
    await this.#changeVisibility(due, VISIBILITY_SECONDS);
    const hiddenUntilMs = nowMs + VISIBILITY_SECONDS * 1_000;
    for (const messageId of due) {
      const { receipt = '' } = this.#held.get(messageId) ?? {};
      // To the end of the map: its order is that of `hiddenUntilMs`.
      this.#held.delete(messageId);
      this.#held.set(messageId, { receipt, hiddenUntilMs });
    }
  }

  async #changeVisibility(messageIds: readonly string[], seconds: number): Promise<void> {
    await this.#forPages(messageIds, async (entries) => {
      const Entries = entries.map((entry) => ({ ...entry, VisibilityTimeout: seconds }));
      const command = new ChangeMessageVisibilityBatchCommand({
        QueueUrl: this.#queueUrl,
        Entries,
      });
      return forgiveStale(await this.#client.send(command));
    });
  }

  /** Sends batches about held messages, ten in each. */
  async #forPages(
    messageIds: readonly string[],
    send: Parameters<typeof sendBatch<{ readonly Id: string; readonly ReceiptHandle: string }>>[1],
  ): Promise<void> {
    const around = { store: STORE, clock: this.#clock, random: this.#random };
    await mapBounded(pagesOf(messageIds, BATCH_MESSAGES), REQUESTS_AT_ONCE, async (page) => {
      const entries = page.map((messageId, index) => ({
        Id: String(index),
        ReceiptHandle: this.#held.get(messageId)?.receipt ?? '',
      }));
      await sendBatch(entries, send, around);
    });
  }
}
