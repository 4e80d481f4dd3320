import type { Message } from '@aws-sdk/client-sqs';
import { MAX_PAYLOAD_BYTES } from './lambda-function.ts';

/** Messages that go into one invocation, and its event. */
export interface EventBatch {
  readonly messages: readonly Message[];
  readonly event: { readonly Records: readonly EventRecord[] };
  /** The tracing headers of the messages that have one. */
  readonly traceHeaders: readonly string[];
}

/** A message in the form in which Lambda passes it to a function. */
export type EventRecord = ReturnType<typeof toRecord>;

/**
 * Splits messages into batches. A batch ends with its last allowed message, or before its event would be
 * too large for an invocation.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html (2026-11)
 */
export function toEventBatches(
  messages: readonly Message[],
  { batchSize, queueArn, region }: BatchInit,
): readonly EventBatch[] {
  const batches: { messages: Message[]; records: EventRecord[]; bytes: number }[] = [];
  for (const message of messages) {
    const record = toRecord(message, queueArn, region);
    const bytes = Buffer.byteLength(JSON.stringify(record)) + 1;
    const last = batches.at(-1);
    if (
      last === undefined ||
      last.messages.length >= batchSize ||
      last.bytes + bytes > MAX_PAYLOAD_BYTES
    ) {
      const wrapping = JSON.stringify({ Records: [] }).length;
      batches.push({ messages: [message], records: [record], bytes: wrapping + bytes });
    } else {
      last.messages.push(message);
      last.records.push(record);
      last.bytes += bytes;
    }
  }
  return batches.map((batch) => ({
    messages: batch.messages,
    event: { Records: batch.records },
    traceHeaders: batch.messages.flatMap(({ Attributes }) => Attributes?.AWSTraceHeader ?? []),
  }));
}

interface BatchInit {
  readonly batchSize: number;
  readonly queueArn: string;
  readonly region: string;
}

/** The message in the form in which Lambda passes it to a function. */
function toRecord(message: Message, eventSourceARN: string, awsRegion: string) {
  const attributes = Object.entries(message.MessageAttributes ?? {});
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(
      attributes.map(([name, { DataType, StringValue, BinaryValue }]) => [
        name,
        {
          dataType: DataType,
          stringValue: StringValue,
          ...(BinaryValue && { binaryValue: Buffer.from(BinaryValue).toString('base64') }),
          stringListValues: [],
          binaryListValues: [],
        },
      ]),
    ),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN,
    awsRegion,
  };
}
