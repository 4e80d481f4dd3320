import { tendGroups } from '@thrice/core';
import { compose } from './compose.ts';
import { openLog } from './log.ts';
import type { LambdaContext } from './sqs-event.ts';

/** Once a minute: opens lanes, wakes what was parked, helps groups that have come to a halt. */
export async function handler(_event: unknown, context: LambdaContext): Promise<void> {
  const composition = compose();
  const log = openLog('steward', context);
  await tendGroups({ ...composition, tasks: composition.queue }, ({ kind, ...facts }) =>
    log.info(kind, facts),
  );
}
