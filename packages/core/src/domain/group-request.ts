import * as z from 'zod';

/** Where a walk over the cells of a group goes on: a run, and a byte of the question file. */
export const walkPositionSchema = z.strictObject({ run: z.string(), offset: z.int().min(0) });
/** Where a walk over the cells of a group goes on. */
export type WalkPosition = z.infer<typeof walkPositionSchema>;

/**
 * Asks for the tasks of a group to be sent: all of them as planned (`plan`), or those of the cells that
 * have no result (`refill`). `from` is where an earlier request ran out of time.
 */
export const dispatchRequestSchema = z.strictObject({
  v: z.literal(1),
  group: z.string().min(1),
  kind: z.enum(['plan', 'refill']),
  /** The lane or model whose cells to send; absent: those of every lane and model that is open. */
  breakerKey: z.string().optional(),
  from: walkPositionSchema.optional(),
  /** Send no more tasks than this. */
  limit: z.int().min(1).optional(),
});
/** Asks for the tasks of a group to be sent. */
export type DispatchRequest = z.infer<typeof dispatchRequestSchema>;

/** Asks for the results of a group to be written. */
export const resultRequestSchema = z.strictObject({
  v: z.literal(1),
  group: z.string().min(1),
  /** The group stands still with nothing in its queues: what is missing is to be sent. */
  isHalted: z.boolean().optional(),
});
/** Asks for the results of a group to be written. */
export type ResultRequest = z.infer<typeof resultRequestSchema>;
