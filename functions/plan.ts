import { dispatchRequestSchema, dispatchTasks } from '@thrice/core';
import { compose } from './shared/compose.ts';
import { extendVisibilityDuring } from './shared/extend-visibility.ts';
import { openLog } from './shared/log.ts';
import { type BatchResponse, handleRecords, type LambdaContext } from './shared/sqs-event.ts';

/** Kept free at the end of an invocation, ms: to send a last page and to ask for the rest. */
const RESERVE_MS = 60_000;
/** After this long the rest is asked for anew, ms: a crash repeats no more than that. */
const STRETCH_MS = 60_000;

/** Sends the tasks of a group to their lanes, a stretch at a time. */
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
