import { publishResults, resultRequestSchema } from '@thrice/core';
import type { Composition } from './compose.ts';
import { extendVisibilityDuring } from './extend-visibility.ts';
import { openLog } from './log.ts';
import { type Handler, handleRecords } from './sqs-event.ts';

/** Creates the handler of the finalize function, which writes the results of a group from its records. */
export function createFinalizeHandler(compose: () => Composition): Handler {
  return async (event, context) => {
    const composition = compose();
    const log = openLog('finalize', context);
    return await handleRecords(event, log, (record) =>
      extendVisibilityDuring(record, 'finalize', composition, async () => {
        const request = resultRequestSchema.parse(JSON.parse(record.body));
        const publication = await publishResults(request, composition);
        log.info('results written', { ...request, ...publication });
      }),
    );
  };
}
