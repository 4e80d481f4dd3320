import { dispatchRequestSchema, dispatchTasks } from '@thrice/core';
import type { ControlComposition } from './compose-control.ts';
import { extendVisibilityDuring } from './extend-visibility.ts';
import { openLog } from './log.ts';
import { type Handler, handleRecords } from './sqs-event.ts';
import { createWorkPartOptions, dropUnlessNeeded } from './work-part-options.ts';

/** Creates the handler of the plan function, which sends the tasks of a group, one part per invocation. */
export function createPlanHandler(compose: () => ControlComposition): Handler {
  return async (event, context) => {
    const composition = compose();
    const log = openLog('plan', context);
    return await handleRecords(event, log, (record) =>
      extendVisibilityDuring(record, 'plan', composition, async () => {
        const request = dispatchRequestSchema.parse(JSON.parse(record.body));
        const options = createWorkPartOptions('plan', {
          group: request.group,
          record,
          context,
          composition,
          log,
        });
        const dispatch = await dispatchTasks(request, options, composition);
        if (dispatch.kind === 'held') dropUnlessNeeded(dispatch);
        log.info('tasks sent', { ...request, ...dispatch });
      }),
    );
  };
}
