import { compose } from './shared/compose.ts';
import { openWebhook } from './shared/compose-webhook.ts';
import { createReconcileHandler } from './shared/reconcile-handler.ts';

/** Repairs, once a minute, whatever a crash left out. */
export const handler = createReconcileHandler({ compose, openWebhook });
