import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import * as z from 'zod';
import type { LambdaContext } from './lambda-context.ts';
import { describeThrown, type Log } from './log.ts';

/** The fields of an SQS message in a Lambda event that Thrice reads. */
const sqsRecordSchema = z.object({
  messageId: z.string(),
  receiptHandle: z.string(),
  body: z.string(),
  attributes: z.object({ ApproximateReceiveCount: z.coerce.number().int() }),
  eventSourceARN: z.string(),
});
/** One message of an event. */
export type SqsRecord = z.infer<typeof sqsRecordSchema>;

const sqsEventSchema = z.object({ Records: z.array(sqsRecordSchema) });

/** The messages of an event to deliver again. Lambda deletes the others from the queue. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/** A Lambda handler for SQS events. */
export type Handler = (event: unknown, context: LambdaContext) => Promise<BatchResponse>;

/**
 * Handles each message of an event independently. A message whose handler throws is delivered again.
 *
 * @throws {ZodError} If the event is not an SQS event.
 */
export async function handleRecords(
  event: unknown,
  log: Log,
  handle: (record: SqsRecord) => Promise<void>,
): Promise<BatchResponse> {
  const records = sqsEventSchema.parse(event);
  const handleAndLog = async (record: SqsRecord) => {
    try {
      await handle(record);
    } catch (thrown) {
      log.error('message failed', { messageId: record.messageId, ...describeThrown(thrown) });
      throw thrown;
    }
  };
  // The response reports the failed messages, even if all of them failed; the invocation itself succeeds.
  const options = { throwOnFullBatchFailure: false };
  const processor = new BatchProcessor(EventType.SQS);
  return await processPartialResponse(records, handleAndLog, processor, options);
}
