import { setTimeout as pause } from 'node:timers/promises';
import type { createRequestHandler } from 'local-aws-sqs';

type EmulatedQueue = ReturnType<typeof createRequestHandler>['service']['Queues'][number];

/** A message as the emulator keeps it. */
interface Item {
  visible: boolean;
  delayed: boolean;
  readonly record: {
    readonly MessageId: string;
    readonly attributes: Record<string, string>;
  };
}

interface ReceiveInput {
  readonly VisibilityTimeout?: number;
  readonly WaitTimeSeconds?: number;
  readonly MaxNumberOfMessages?: number;
}

const LOOK_MS = 10;

/**
 * Makes an emulated queue do three things as SQS does.
 *
 * The emulator (local-aws-sqs 2.0.2) counts every change of a visibility as a receive, so that a
 * heartbeat would drive a message to the dead letters; it counts held messages as available; and it
 * returns from a long poll only when it has as many messages as were asked for.
 */
export function correctQueue(queue: EmulatedQueue): void {
  const items = new Map<string, Item>();

  const newRecord = queue.newRecord;
  queue.newRecord = (message, delaySeconds) => {
    const item = newRecord(message, delaySeconds) as Item;
    items.set(item.record.MessageId, item);
    return item;
  };
  const remove = queue.delete.bind(queue);
  queue.delete = (receipt) => {
    const isGone = remove(receipt);
    items.delete(messageIdIn(receipt) ?? '');
    return isGone;
  };
  const clearRecords = queue.clearRecords.bind(queue);
  queue.clearRecords = () => {
    items.clear();
    clearRecords();
  };

  const changeVisibility = queue.changeVisibility.bind(queue);
  queue.changeVisibility = (receipt, seconds) => {
    const attributes = items.get(messageIdIn(receipt) ?? '')?.record.attributes;
    const receiveCount = attributes?.['ApproximateReceiveCount'];
    const isThere = changeVisibility(receipt, seconds);
    if (attributes !== undefined && receiveCount !== undefined) {
      attributes['ApproximateReceiveCount'] = receiveCount;
    }
    return isThere;
  };

  const receive = queue.receive.bind(queue);
  queue.receive = async (input: ReceiveInput) => {
    const max = Number(input.MaxNumberOfMessages ?? 1);
    const waitMs = Number(input.WaitTimeSeconds ?? queue.ReceiveMessageWaitTimeSeconds) * 1_000;
    const until = Date.now() + waitMs;
    let available = countAvailable(items, max);
    while (available === 0 && Date.now() < until) {
      await pause(LOOK_MS, undefined, { ref: false });
      available = countAvailable(items, max);
    }
    if (available === 0) return [];
    return receive({ ...input, WaitTimeSeconds: 0, MaxNumberOfMessages: available });
  };

  const getAttributes = queue.getAttributes.bind(queue);
  queue.getAttributes = (names) => {
    const attributes = getAttributes(names) as Record<string, string> | undefined;
    if (attributes?.['ApproximateNumberOfMessages'] !== undefined) {
      const available = countAvailable(items, Number.POSITIVE_INFINITY);
      attributes['ApproximateNumberOfMessages'] = String(available);
    }
    return attributes;
  };
}

function countAvailable(items: ReadonlyMap<string, Item>, max: number): number {
  let count = 0;
  for (const { visible, delayed } of items.values()) {
    if (count >= max) break;
    if (visible && !delayed) count += 1;
  }
  return count;
}

/** The emulator writes the message's id into each receipt; what is no receipt it refuses by itself. */
function messageIdIn(receipt: string): string | undefined {
  const text = Buffer.from(receipt, 'base64').toString('utf8');
  try {
    return (JSON.parse(text.slice(text.indexOf('{'))) as { MessageId: string }).MessageId;
  } catch {
    return undefined;
  }
}
