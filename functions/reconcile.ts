import { openBatches } from './shared/compose-batches.ts';
import { composeControl } from './shared/compose-control.ts';
import { openWebhook } from './shared/compose-webhook.ts';
import { createReconcileHandler } from './shared/reconcile-handler.ts';

/** Repairs, once a minute, whatever a crash left out, and sends batches and reads their results. */
export const handler = createReconcileHandler({
  compose: composeControl,
  openWebhook,
  openBatches,
});
