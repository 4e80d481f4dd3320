import * as z from 'zod';
import type { Log } from './log.ts';

/** What we read of the event that SQS hands to a function. */
const sqsEventSchema = z.object({
  Records: z.array(
    z.object({
      messageId: z.string(),
      receiptHandle: z.string(),
      body: z.string(),
      eventSourceARN: z.string(),
    }),
  ),
});
/** One message of an event. */
export type SqsRecord = z.infer<typeof sqsEventSchema>['Records'][number];

/** What we read of the context that Lambda hands to a handler. */
export interface LambdaContext {
  /** Time until the function is killed, ms. */
  getRemainingTimeInMillis(): number;
}

/** Which messages of an event must come again. */
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
  const { Records } = sqsEventSchema.parse(event);
  const failures = await Promise.all(
    Records.map(async (record) => {
      try {
        await handle(record);
        return [];
      } catch (error) {
        log.error('message failed', { messageId: record.messageId, error: describe(error) });
        return [{ itemIdentifier: record.messageId }];
      }
    }),
  );
  return { batchItemFailures: failures.flat() };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
