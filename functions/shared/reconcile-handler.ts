import { type Clock, reconcileGroups, type Webhook } from '@thrice/core';
import type { Composition } from './compose.ts';
import type { LambdaContext } from './lambda-context.ts';
import { openLog } from './log.ts';

/** Time reserved at the end of an invocation, ms: for the groups in work, whose slowest request may be retried. */
const RESERVE_MS = 15_000;

/**
 * Creates the handler of the reconciler, which closes breakers, resumes deferred cells, and repairs halted
 * groups. The schedule calls it once a minute.
 */
export function createReconcileHandler({
  compose,
  openWebhook,
}: {
  readonly compose: () => Composition;
  readonly openWebhook: (clock: Clock) => Webhook;
}): (event: unknown, context: LambdaContext) => Promise<void> {
  return async (_event, context) => {
    const composition = compose();
    const log = openLog('reconciler', context);
    await reconcileGroups(
      { ...composition, tasks: composition.queue, webhook: openWebhook(composition.clock) },
      ({ kind, ...facts }) => log.info(kind, facts),
      () => context.getRemainingTimeInMillis() < RESERVE_MS,
    );
  };
}
