import { compose } from './shared/compose.ts';
import { openBatches } from './shared/compose-batches.ts';
import { openWebhook } from './shared/compose-webhook.ts';
import { createReconcileHandler } from './shared/reconcile-handler.ts';

/** Repairs, once a minute, whatever a crash left out, and sends batches and reads their results. */
export const handler = createReconcileHandler({ compose, openWebhook, openBatches });
