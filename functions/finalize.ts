import { publishResults, resultRequestSchema } from '@thrice/core';
import { compose } from './shared/compose.ts';
import { extendVisibilityDuring } from './shared/extend-visibility.ts';
import type { LambdaContext } from './shared/lambda-context.ts';
import { openLog } from './shared/log.ts';
import { type BatchResponse, handleRecords } from './shared/sqs-event.ts';

/** Writes the results of a group, computed from its records. */
export async function handler(event: unknown, context: LambdaContext): Promise<BatchResponse> {
  const composition = compose();
  const log = openLog('finalize', context);
  return await handleRecords(event, log, (record) =>
    extendVisibilityDuring(record, 'finalize', composition, async () => {
      const request = resultRequestSchema.parse(JSON.parse(record.body));
      const publication = await publishResults(request, composition);
      log.info('results written', { ...request, ...publication });
    }),
  );
}
