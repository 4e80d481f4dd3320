import * as z from 'zod';

/** Where a question lies: a byte range of a stored JSONL file. */
export const questionRangeSchema = z.strictObject({
  key: z.string(),
  offset: z.int().min(0),
  length: z.int().min(1),
});
/** Where a question lies. */
export type QuestionRange = z.infer<typeof questionRangeSchema>;

/** The message that asks a worker to work on one cell. */
export const cellTaskSchema = z.strictObject({
  v: z.literal(1),
  run: z.string(),
  id: z.string(),
  config: z.string(),
  question: questionRangeSchema,
  /** Which attempt to reach a score this is: 0 as planned, one more for each rerun. */
  generation: z.int().min(0),
});
/** The message that asks a worker to work on one cell. */
export type CellTask = z.infer<typeof cellTaskSchema>;
