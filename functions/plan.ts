import { composeControl } from './shared/compose-control.ts';
import { createPlanHandler } from './shared/part-handler.ts';

/** Sends the tasks of a group to their lanes. */
export const handler = createPlanHandler(composeControl);
