import { dispatchRequestSchema, dispatchTasks } from '@thrice/core';
import { compose } from './shared/compose.ts';
import { extendVisibilityDuring } from './shared/extend-visibility.ts';
import type { LambdaContext } from './shared/lambda-context.ts';
import { openLog } from './shared/log.ts';
import { type BatchResponse, handleRecords } from './shared/sqs-event.ts';

/** Time reserved at the end of an invocation, ms: to send the last page and request the next stretch. */
const RESERVE_MS = 60_000;
/** Duration of one stretch, ms. A crash repeats at most this much work. */
const STRETCH_MS = 60_000;

/** Sends the tasks of a group to their lanes, one stretch per invocation. */
export async function handler(event: unknown, context: LambdaContext): Promise<BatchResponse> {
  const composition = compose();
  const log = openLog('plan', context);
  return await handleRecords(event, log, (record) =>
    extendVisibilityDuring(record, 'plan', composition, async () => {
      const request = dispatchRequestSchema.parse(JSON.parse(record.body));
      const endsAtMs =
        composition.clock.now() +
        Math.min(STRETCH_MS, context.getRemainingTimeInMillis() - RESERVE_MS);
      const isOutOfTime = () => composition.clock.now() >= endsAtMs;
      const sentCount = await dispatchTasks(request, isOutOfTime, composition);
      log.info('tasks sent', { ...request, sentCount });
    }),
  );
}
