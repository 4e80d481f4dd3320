import { dispatchRequestSchema, dispatchTasks } from '@thrice/core';
import type { Composition } from './compose.ts';
import { extendVisibilityDuring } from './extend-visibility.ts';
import { openLog } from './log.ts';
import { type Handler, handleRecords } from './sqs-event.ts';

/** Time reserved at the end of an invocation, ms: to send the last page and request the next stretch. */
const RESERVE_MS = 60_000;
/** Duration of one stretch, ms. A crash repeats at most this much work. */
const STRETCH_MS = 60_000;

/** Creates the handler of the plan function, which sends the tasks of a group, one stretch per invocation. */
export function createPlanHandler(compose: () => Composition): Handler {
  return async (event, context) => {
    const composition = compose();
    const log = openLog('plan', context);
    return await handleRecords(event, log, (record) =>
      extendVisibilityDuring(record, 'plan', composition, async () => {
        const request = dispatchRequestSchema.parse(JSON.parse(record.body));
        const endsAtMs =
          composition.clock.monotonicMs() +
          Math.min(STRETCH_MS, context.getRemainingTimeInMillis() - RESERVE_MS);
        const isOutOfTime = () => composition.clock.monotonicMs() >= endsAtMs;
        const sentCount = await dispatchTasks(request, isOutOfTime, composition);
        log.info('tasks sent', { ...request, sentCount });
      }),
    );
  };
}
