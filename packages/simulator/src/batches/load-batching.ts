import * as z from 'zod';

const rateSchema = z.number().min(0).max(1);

/** How a simulated vendor works on batches. */
export const batchingSchema = z.strictObject({
  /** From the submission of a batch to its end. @default 0 */
  seconds: z.number().min(0).optional(),
  /** Share of the requests that end with a server error, 0..1, drawn per custom ID. @default 0 */
  errorRate: rateSchema.optional(),
  /** Share of the requests that expire, 0..1, drawn per custom ID. @default 0 */
  expiryRate: rateSchema.optional(),
  /** How many batches, the first ones, fail at their validation; OpenAI's alone have one. @default 0 */
  refusedCount: z.int().min(0).optional(),
});
/** How a simulated vendor works on batches; see {@link batchingSchema}. */
export type Batching = z.infer<typeof batchingSchema>;
