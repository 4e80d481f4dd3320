import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import * as z from 'zod';
import { describeThrown, type Log } from './log.ts';

/** What we read of a message that SQS hands to a function. */
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

/** What we read of the context that Lambda hands to a handler. */
export interface LambdaContext {
  readonly awsRequestId: string;
  /** Time until the function is killed, ms. */
  getRemainingTimeInMillis(): number;
}

/** Which messages of an event must come again; the poller deletes the others. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Handles every message of an event on its own: one that throws comes again, the others are done.
 *
 * @throws {ZodError} When Lambda hands over something that is no SQS event.
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
  // One that has failed is all the same a batch that was handled: what failed is in the response.
  const options = { throwOnFullBatchFailure: false };
  const processor = new BatchProcessor(EventType.SQS);
  return await processPartialResponse(records, handleAndLog, processor, options);
}
