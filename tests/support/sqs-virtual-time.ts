import type { Clock } from '@thrice/core';
import type { createRequestHandler } from 'local-aws-sqs';

type Queue = ReturnType<typeof createRequestHandler>['service']['Queues'][number];

interface ReceivedRecord {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
}

const LONGEST_SECONDS = '43200';

/**
 * Lets the messages of an emulated queue reappear by a test's clock instead of the machine's.
 *
 * For the emulator every held message stays hidden for the longest time there is; before each receive,
 * those whose time has come by the clock are shown.
 */
export function liveByClock(queue: Queue, clock: Clock): void {
  /** When held messages reappear, by message; and one receipt to show each by. */
  const held = new Map<string, { readonly receipt: string; readonly dueAtMs: number }>();
  const messageOfReceipt = new Map<string, string>();
  const receive = queue.receive.bind(queue);
  const changeVisibility = queue.changeVisibility.bind(queue);
  const remove = queue.delete.bind(queue);
  const hold = (receipt: string, seconds: number) => {
    const dueAtMs = clock.now() + seconds * 1_000;
    held.set(messageOfReceipt.get(receipt) ?? receipt, { receipt, dueAtMs });
  };

  queue.receive = async (input: { readonly VisibilityTimeout: number }) => {
    for (const [message, { receipt, dueAtMs }] of held) {
      if (dueAtMs > clock.now()) continue;
      held.delete(message);
      changeVisibility(receipt, '0');
    }
    const records = (await receive({
      ...input,
      VisibilityTimeout: LONGEST_SECONDS,
    })) as ReceivedRecord[];
    for (const { MessageId, ReceiptHandle } of records) {
      messageOfReceipt.set(ReceiptHandle, MessageId);
      hold(ReceiptHandle, input.VisibilityTimeout);
    }
    return records;
  };
  queue.changeVisibility = (receipt, seconds) => {
    const isThere = changeVisibility(receipt, LONGEST_SECONDS);
    if (isThere) hold(receipt, Number(seconds));
    return isThere;
  };
  const getAttributes = queue.getAttributes.bind(queue);
  queue.getAttributes = (names) => {
    // The emulator counts held messages as available too.
    const { ApproximateNumberOfMessages: notDelayed, ApproximateNumberOfMessagesNotVisible: held } =
      getAttributes(['All']) as Record<string, string>;
    const attributes = getAttributes(names) as Record<string, string> | undefined;
    if (attributes?.['ApproximateNumberOfMessages'] !== undefined) {
      attributes['ApproximateNumberOfMessages'] = String(Number(notDelayed) - Number(held));
    }
    return attributes;
  };
  queue.delete = (receipt) => {
    held.delete(messageOfReceipt.get(receipt) ?? receipt);
    return remove(receipt);
  };
}
