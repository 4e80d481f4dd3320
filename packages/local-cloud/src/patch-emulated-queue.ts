import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { createRequestHandler } from 'local-aws-sqs';

type EmulatedQueue = ReturnType<typeof createRequestHandler>['service']['Queues'][number];

/** A message as the emulator stores it. */
interface Item {
  visible: boolean;
  delayed: boolean;
  readonly record: {
    readonly MessageId: string;
    ReceiptHandle: string;
    readonly attributes: Record<string, string>;
  };
}

interface ReceiveInput {
  readonly VisibilityTimeout?: number;
  readonly WaitTimeSeconds?: number;
  readonly MaxNumberOfMessages?: number;
}

const POLL_MS = 10;

/**
 * Fixes five differences between an emulated queue and SQS.
 *
 * The emulator (local-aws-sqs 2.0.2) counts every visibility change as a receive, so that heartbeats
 * would move a message to the DLQ. A late visibility change hides a message that is already visible
 * again; SQS ignores it. In-flight messages count as available. A long poll returns only when it has as
 * many messages as requested. Every receive takes 10 ms.
 *
 * @see https://github.com/localstack/localstack/pull/9632 for late visibility changes (2023-11)
 */
export function patchEmulatedQueue(queue: EmulatedQueue): void {
  const items = new Map<string, Item>();

  const newRecord = queue.newRecord;
  queue.newRecord = (message, delaySeconds) => {
    const item = newRecord(message, delaySeconds) as Item;
    items.set(item.record.MessageId, item);
    return item;
  };
  const remove = queue.delete.bind(queue);
  queue.delete = (receipt) => {
    const isDeleted = remove(receipt);
    items.delete(messageIdIn(receipt) ?? '');
    return isDeleted;
  };
  const clearRecords = queue.clearRecords.bind(queue);
  queue.clearRecords = () => {
    items.clear();
    clearRecords();
  };

  const changeVisibility = queue.changeVisibility.bind(queue);
  queue.changeVisibility = (receipt, seconds) => {
    const item = items.get(messageIdIn(receipt) ?? '');
    if (item?.visible === true) return true;
    const receiveCount = item?.record.attributes['ApproximateReceiveCount'];
    const isChanged = changeVisibility(receipt, seconds);
    if (item !== undefined && receiveCount !== undefined) {
      item.record.attributes['ApproximateReceiveCount'] = receiveCount;
    }
    return isChanged;
  };

  const receiveItem = ({ record }: Item, seconds: number | undefined) => {
    const { MessageId } = record;
    record.ReceiptHandle = toReceipt({ date: Date.now(), MessageId, QueueName: queue.QueueName });
    // The emulator's own way to hide a message, which counts a receive.
    const isHidden = changeVisibility(record.ReceiptHandle, String(seconds));
    if (isHidden) return [{ ...record, attributes: { ...record.attributes } }];
    // Its retention time has ended.
    items.delete(MessageId);
    return [];
  };
  queue.receive = async (input: ReceiveInput) => {
    const max = Number(input.MaxNumberOfMessages ?? 1);
    const waitMs = Number(input.WaitTimeSeconds ?? queue.ReceiveMessageWaitTimeSeconds) * 1_000;
    const until = Date.now() + waitMs;
    let available = findAvailable(items, max);
    while (available.length === 0 && Date.now() < until) {
      await pause(POLL_MS, undefined, { ref: false });
      available = findAvailable(items, max);
    }
    return available.flatMap((item) => receiveItem(item, input.VisibilityTimeout));
  };

  const getAttributes = queue.getAttributes.bind(queue);
  queue.getAttributes = (names) => {
    const attributes = getAttributes(names) as Record<string, string> | undefined;
    if (attributes?.['ApproximateNumberOfMessages'] !== undefined) {
      const available = findAvailable(items, Number.POSITIVE_INFINITY);
      attributes['ApproximateNumberOfMessages'] = String(available.length);
    }
    return attributes;
  };
}

function findAvailable(items: ReadonlyMap<string, Item>, max: number): readonly Item[] {
  const found: Item[] = [];
  for (const item of items.values()) {
    if (found.length >= max) break;
    if (item.visible && !item.delayed) found.push(item);
  }
  return found;
}

/** Reads the message id that the emulator writes into each receipt. The emulator rejects invalid receipts. */
function messageIdIn(receipt: string): string | undefined {
  const text = Buffer.from(receipt, 'base64').toString('utf8');
  try {
    return (JSON.parse(text.slice(text.indexOf('{'))) as { MessageId: string }).MessageId;
  } catch {
    return undefined;
  }
}

/** Creates a receipt in the emulator's format. */
function toReceipt(content: Readonly<Record<string, unknown>>): string {
  return Buffer.from(`${randomUUID()}${JSON.stringify(content)}`).toString('base64');
}
