import { composeControl } from './shared/compose-control.ts';
import { createFinalizeHandler } from './shared/part-handler.ts';

/** Writes the results of a group. */
export const handler = createFinalizeHandler(composeControl);
