import { reconcileGroups } from '@thrice/core';
import { compose } from './shared/compose.ts';
import type { LambdaContext } from './shared/lambda-context.ts';
import { openLog } from './shared/log.ts';

/** Runs once a minute: closes breakers, resumes deferred cells, and repairs halted groups. */
export async function handler(_event: unknown, context: LambdaContext): Promise<void> {
  const composition = compose();
  const log = openLog('reconciler', context);
  await reconcileGroups({ ...composition, tasks: composition.queue }, ({ kind, ...facts }) =>
    log.info(kind, facts),
  );
}
