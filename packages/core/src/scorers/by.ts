import * as z from 'zod';
import { CHOOSING_KIND, type ChoosingScorer } from '../domain/scorer.ts';

const scorerNameSchema = z.string().min(1);

const parameters = z.strictObject({
  /** The tag, or else the field of `metadata`, whose value decides. */
  by: z.string().min(1),
  /** The kinds of scorers, or the names of their tables, by value. */
  scorers: z
    .record(z.string(), scorerNameSchema)
    .refine((scorers) => Object.keys(scorers).length > 0, {
      error: 'expected a scorer for one value at least, as in { multipleChoice = "choice" }',
    }),
  /** The scorer of the questions with another value, or none. */
  otherwise: scorerNameSchema.optional(),
});

/** Leaves each question to the scorer for the value of one of its tags. */
export const by: ChoosingScorer<typeof parameters> = {
  kind: CHOOSING_KIND,
  reads: 'question',
  version: 1,
  parameters,
  needsTable: true,
  describeExpectedTarget: () => undefined,
};
