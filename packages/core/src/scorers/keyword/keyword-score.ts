import * as z from 'zod';
import type { Question } from '../../domain/question.ts';

const keywordsSchema = z.array(z.string()).nullish();
const rubricSchema = z.object({
  required_keywords: keywordsSchema,
  optional_keywords: keywordsSchema,
  must_have_citations: z.number().nullish(),
});

/** What an answer is to name, and how many sources it is to cite. */
export interface KeywordRubric {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** 1 where the question does not say. */
  readonly citationCount: number;
}

/** Reads the rubric of a question; undefined for one that is none. */
export function readKeywordRubric({ metadata }: Question): KeywordRubric | undefined {
  const { data } = rubricSchema.safeParse(metadata);
  return (
    data && {
      required: data.required_keywords ?? [],
      optional: data.optional_keywords ?? [],
      citationCount: data.must_have_citations ?? 1,
    }
  );
}

/**
 * The least total of an answer that counts as right where a fraction will not do, as for calibration.
 *
 * @see https://github.com/JLSteenwyk/sparkit, services/eval_service/app/evaluator.py (commit 86b7cf7)
 */
export const RIGHT_FROM = 0.6;

/** An answer as a rubric sees it. */
export interface CitingAnswer {
  readonly text: string;
  readonly citationCount: number;
}

/** How far an answer fulfils a rubric, each in 0..1. */
export interface KeywordScore {
  readonly keywordCoverage: number;
  readonly citationScore: number;
  readonly total: number;
}

/**
 * The rubric of SPARKIT: three quarters for keywords, of which the optional ones count for 30 %, one quarter for
 * citations. A keyword is named if it is a part of the text, in any case. The operations are in SPARKIT's order.
 *
 * @see https://github.com/JLSteenwyk/sparkit, services/eval_service/app/rubric.py (commit f34ff03)
 */
export function scoreKeywords(
  { text, citationCount }: CitingAnswer,
  { required, optional, citationCount: neededCount }: KeywordRubric,
): KeywordScore {
  const lowered = text.toLowerCase();
  const keywordCoverage = Math.min(
    1,
    0.7 * coverageOf(lowered, required) + 0.3 * coverageOf(lowered, optional),
  );
  const citationScore = Math.min(1, citationCount / Math.max(1, neededCount));
  return { keywordCoverage, citationScore, total: 0.75 * keywordCoverage + 0.25 * citationScore };
}

function coverageOf(text: string, keywords: readonly string[]): number {
  if (keywords.length === 0) return 1;
  return keywords.filter((each) => text.includes(each.toLowerCase())).length / keywords.length;
}
