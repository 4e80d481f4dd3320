import { reconcileGroups } from '@thrice/core';
import type { Composition } from './compose.ts';
import type { LambdaContext } from './lambda-context.ts';
import { openLog } from './log.ts';

/**
 * Creates the handler of the reconciler, which closes breakers, resumes deferred cells, and repairs halted
 * groups. The schedule calls it once a minute.
 */
export function createReconcileHandler(
  compose: () => Composition,
): (event: unknown, context: LambdaContext) => Promise<void> {
  return async (_event, context) => {
    const composition = compose();
    const log = openLog('reconciler', context);
    await reconcileGroups({ ...composition, tasks: composition.queue }, ({ kind, ...facts }) =>
      log.info(kind, facts),
    );
  };
}
