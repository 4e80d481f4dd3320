import { compose } from './shared/compose.ts';
import { createPlanHandler } from './shared/plan-handler.ts';

/** Sends the tasks of a group to their lanes. */
export const handler = createPlanHandler(compose);
