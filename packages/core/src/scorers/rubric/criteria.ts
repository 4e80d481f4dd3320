import * as z from 'zod';
import type { Question } from '../../domain/question.ts';
import { ThriceError } from '../../errors.ts';

const weightSchema = z.number().min(0, { error: 'expected a weight, at least 0' });
const textSchema = z.string().min(1);

/** A criterion in a spec. Its id becomes the name of a metric. */
export const criterionSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, {
    error: 'expected letters, digits, "_" and "-", at most 64',
  }),
  text: textSchema,
  /** How much it counts in proportion to the others. */
  weight: weightSchema.default(1),
});

/** Criteria in a spec, of which at least one counts. */
export const criteriaSchema = z
  .array(criterionSchema)
  .min(1)
  .refine((criteria) => new Set(criteria.map(({ id }) => id)).size === criteria.length, {
    error: 'expected ids that differ',
  })
  .refine((criteria) => criteria.some(({ weight }) => weight > 0), {
    error: 'expected a weight of more than 0',
  });

/** What a response is judged by. */
export interface Criterion {
  readonly text: string;
  /** >= 0 */
  readonly weight: number;
}

/** A rubric of a question: a text is one criterion, and so is each entry of a list. OneShot writes `criterion`, others `text`. */
const rubricSchema = z.union([
  textSchema.transform((text): Criterion[] => [{ text, weight: 1 }]),
  z
    .array(
      z.union([
        textSchema.transform((text): Criterion => ({ text, weight: 1 })),
        z
          .object({ text: textSchema, weight: weightSchema.default(1) })
          .transform(({ text, weight }): Criterion => ({ text, weight })),
        z
          .object({ criterion: textSchema, weight: weightSchema.default(0) })
          .transform(({ criterion, weight }): Criterion => ({ text: criterion, weight })),
      ]),
    )
    .min(1),
]);

/**
 * Reads the criteria of a question's own rubric.
 *
 * @throws {ThriceError} `invalid-question` for a question without a rubric, or with one that has another form.
 */
export function readRubric({ id, rubric }: Question): readonly Criterion[] {
  if (rubric === null || rubric === undefined)
    throw invalidRubric(
      id,
      'has no rubric; add it, write criteria below [scorers.NAME], or leave such questions out with select',
    );
  const parsed = rubricSchema.safeParse(rubric);
  if (!parsed.success)
    throw invalidRubric(
      id,
      'has a rubric of another form; expected a text, or a list of texts or of { text, weight } with weights of at least 0',
    );
  return parsed.data;
}

function invalidRubric(id: string, problem: string): ThriceError {
  return new ThriceError({ code: 'invalid-question', message: `question "${id}" ${problem}` });
}
