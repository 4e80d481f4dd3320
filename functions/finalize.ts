import { publishResults, resultRequestSchema } from '@thrice/core';
import { compose } from './compose.ts';
import { openLog } from './log.ts';
import { type BatchResponse, handleRecords, type LambdaContext } from './sqs-event.ts';

/** Writes the results of a group, counted from its records. */
export async function handler(event: unknown, context: LambdaContext): Promise<BatchResponse> {
  const composition = compose();
  const log = openLog('finalize', context);
  return await handleRecords(event, log, async ({ body }) => {
    const { group } = resultRequestSchema.parse(JSON.parse(body));
    const publication = await publishResults(group, composition);
    log.info('results written', { group, ...publication });
  });
}
