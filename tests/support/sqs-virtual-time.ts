import type { Clock } from '@thrice/core';
import type { createRequestHandler } from 'local-aws-sqs';

type Queue = ReturnType<typeof createRequestHandler>['service']['Queues'][number];

interface ReceivedRecord {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
}

const MAX_VISIBILITY_SECONDS = '43200';

/**
 * Makes the messages of an emulated queue reappear by a test's clock instead of the machine's.
 *
 * The emulator hides every held message for the longest possible time. Before each receive, messages that
 * are due by the test's clock are made visible.
 */
export function useVirtualTime(queue: Queue, clock: Clock): void {
  /** By message id: when each held message reappears, and a receipt to make it visible with. */
  const held = new Map<string, { readonly receipt: string; readonly dueAtMs: number }>();
  const messageOfReceipt = new Map<string, string>();
  const receive = queue.receive.bind(queue);
  const changeVisibility = queue.changeVisibility.bind(queue);
  const remove = queue.delete.bind(queue);
  const getAttributes = queue.getAttributes.bind(queue);
  /** The emulator also counts held messages as visible. */
  const countAvailable = (): number => {
    const {
      ApproximateNumberOfMessages: notDelayed,
      ApproximateNumberOfMessagesNotVisible: hidden,
    } = getAttributes(['All']) as Record<string, string>;
    return Number(notDelayed) - Number(hidden);
  };
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
    // The emulator looks at its messages every 10 ms, for 40 ms: on a busy machine it may end before its first look.
    let records: ReceivedRecord[] = [];
    do {
      records = (await receive({
        ...input,
        VisibilityTimeout: MAX_VISIBILITY_SECONDS,
      })) as ReceivedRecord[];
    } while (records.length === 0 && countAvailable() > 0);
    for (const { MessageId, ReceiptHandle } of records) {
      messageOfReceipt.set(ReceiptHandle, MessageId);
      hold(ReceiptHandle, input.VisibilityTimeout);
    }
    return records;
  };
  queue.changeVisibility = (receipt, seconds) => {
    const isFound = changeVisibility(receipt, MAX_VISIBILITY_SECONDS);
    if (isFound) hold(receipt, Number(seconds));
    return isFound;
  };
  queue.getAttributes = (names) => {
    const attributes = getAttributes(names) as Record<string, string> | undefined;
    if (attributes?.['ApproximateNumberOfMessages'] !== undefined)
      attributes['ApproximateNumberOfMessages'] = String(countAvailable());
    return attributes;
  };
  queue.delete = (receipt) => {
    held.delete(messageOfReceipt.get(receipt) ?? receipt);
    return remove(receipt);
  };
}
