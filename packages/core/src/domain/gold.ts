import * as z from 'zod';
import { configNameSchema } from './benchmark-spec.ts';
import { questionIdSchema } from './question.ts';

/** A row of a gold file: whether people have found an answer right. */
export const goldRowSchema = z.strictObject({
  id: questionIdSchema,
  config: configNameSchema,
  correct: z.boolean(),
  /** The replicate that gave the answer, as in `demo-r2`. Absent: the first one that was judged. */
  run: z.string().min(1).optional(),
});
/** A row of a gold file. */
export type GoldRow = z.infer<typeof goldRowSchema>;
