import { finalizePart, resultRequestSchema } from '@thrice/core';
import type { ControlComposition } from './compose-control.ts';
import { extendVisibilityDuring } from './extend-visibility.ts';
import { openLog } from './log.ts';
import { type Handler, handleRecords } from './sqs-event.ts';
import { createWorkPartOptions, dropUnlessNeeded } from './work-part-options.ts';

/**
 * Creates the handler of the finalize function, which writes the results of a group from its records, one part per
 * invocation.
 */
export function createFinalizeHandler(compose: () => ControlComposition): Handler {
  return async (event, context) => {
    const composition = compose();
    const log = openLog('finalize', context);
    return await handleRecords(event, log, (record) =>
      extendVisibilityDuring(record, 'finalize', composition, async () => {
        const request = resultRequestSchema.parse(JSON.parse(record.body));
        const options = createWorkPartOptions('finalize', {
          group: request.group,
          record,
          context,
          composition,
          log,
        });
        const finalization = await finalizePart(request, options, composition);
        if (finalization.kind === 'held') dropUnlessNeeded(finalization);
        log.info('results', { ...request, ...finalization });
      }),
    );
  };
}
