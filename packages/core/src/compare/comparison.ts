import * as z from 'zod';
import { ruledAsSchema } from '../domain/ruling.ts';

const count = z.int().min(0);
const amount = z.number().nullable();
const ratio = z.number().min(0).max(1).nullable();

/** What a comparison says: of A, measured against B. */
export const verdictSchema = z.enum([
  'better',
  'worse',
  'no worse',
  'higher',
  'lower',
  'not resolved',
]);
/** What a comparison says: of A, measured against B. */
export type Verdict = z.infer<typeof verdictSchema>;

const pValueSchema = z.strictObject({
  p: z.number().min(0).max(1),
  /** Its decimal logarithm: p is 0 below the smallest number. */
  log10P: z.number().max(0),
});

/** One figure of two configs over the questions for which both have it, a question for one value over replicates. */
export const pairedFiguresSchema = z.strictObject({
  /** Questions for which both have the figure. */
  n: count,
  /** Questions that both were to answer. */
  questions: count,
  /** Questions that only A, and that only B, was to answer: they count for nothing. */
  onlyA: count,
  onlyB: count,
  /** Cells that a ruling counts as 0, or excludes, which leaves the question to the other. */
  ruledA: count.default(0),
  ruledB: count.default(0),
  /** Share of the cells of `questions` that have the figure. */
  coverageA: ratio,
  coverageB: ratio,
  /** Means over the n questions. */
  a: amount,
  b: amount,
  /** A less B. */
  difference: amount,
  /** Of the difference, clustered by question. */
  stderr: amount,
  /** Student's t, 95 %. */
  ci95: z.tuple([z.number(), z.number()]).nullable(),
  /** The difference in standard deviations of the differences between questions. */
  effect: amount,
  /** Least and most that the difference can be, whatever is missing; null for a metric without a least or a most. */
  bounds: z.tuple([z.number(), z.number()]).nullable(),
  /** Of the test of that interval. */
  pValue: pValueSchema.nullable(),
  /** Questions on which A has more, on which B has more, and on which both have the same. */
  gained: count,
  lost: count,
  same: count,
  /** McNemar's exact test; null unless both have one cell a question, each right or wrong. */
  exact: z
    .strictObject({
      pValue: pValueSchema,
      /** Cohen's kappa of who is right. */
      kappa: amount,
    })
    .nullable(),
  /**
   * The exact p-value where there is one, else the other, corrected for how many comparisons there are beside it (Holm). The
   * verdict is by it.
   */
  pHolm: pValueSchema.nullable(),
  /**
   * Of Student's t, one-sided, that A is worse by the margin or more, corrected likewise: A is no worse where it is below
   * 2.5 %. Null without a margin.
   */
  pMargin: pValueSchema.nullable().default(null),
  verdict: verdictSchema,
  /** Why there is no verdict; null where there is one. */
  why: z.enum(['too-few', 'coverage', 'noise']).nullable(),
  /**
   * About how many more questions would tell a difference of this size, beside the other comparisons; null where one is told,
   * none was seen, or it is not for noise that there is no verdict.
   */
  moreQuestions: count.nullable(),
});
/** One figure of two configs over the questions for which both have it. */
export type PairedFigures = z.infer<typeof pairedFiguresSchema>;

/** One side of a comparison. */
const sideSchema = z.strictObject({
  group: z.string(),
  runs: z.array(z.string()),
  config: z.string(),
  /** Number of the grading whose scores are compared. */
  grading: count,
  /** How it counts cells without a score, by error class. Absent: as missing. */
  rulings: z.record(z.string(), ruledAsSchema).optional(),
});
/** One side of a comparison. */
export type ComparedSide = z.infer<typeof sideSchema>;

const changedSchema = z.strictObject({
  id: z.string(),
  a: z.number(),
  b: z.number(),
  difference: z.number(),
});
/** A question that both have answered, and not alike. */
export type ChangedQuestion = z.infer<typeof changedSchema>;

const pairSchema = z.strictObject({
  a: sideSchema,
  b: sideSchema,
  /** What differs between them besides their names; null where one of them has none. */
  differs: z.array(
    z.strictObject({ key: z.string(), a: z.string().nullable(), b: z.string().nullable() }),
  ),
  /** Questions whose texts differ, or are unknown in one. */
  otherTexts: count,
  all: pairedFiguresSchema,
  /** By value of the tag; empty without one. */
  byTag: z.record(z.string(), pairedFiguresSchema),
  /** Worst for A first. */
  changed: z.array(changedSchema),
});
/** Two configs, compared. */
export type ComparedPair = z.infer<typeof pairSchema>;

/** A comparison of one config with others. */
export const comparisonSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** `score`, or the name of a metric. */
  figure: z.string(),
  /** Which is better; null for a figure that says nothing about quality. */
  better: z.enum(['higher', 'lower']).nullable(),
  /** The most that A may be worse and still be `no worse`; null where nobody asks. */
  margin: amount,
  tag: z.string().nullable(),
  pairs: z.array(pairSchema),
});
/** A comparison of one config with others. */
export type Comparison = z.infer<typeof comparisonSchema>;
