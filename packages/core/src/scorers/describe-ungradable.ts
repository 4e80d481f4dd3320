import type { Question } from '../domain/question.ts';
import { configureScorer, type ScorerRegistry, type ScorerSpec } from '../domain/scorer.ts';
import { toThriceError } from '../errors.ts';
import { scorerRegistry } from './registry.ts';

/** Any answer: what a judge is asked about one is what it is asked about all. */
const ANSWER = { text: 'An answer.', isCutOff: false };

/**
 * Checks whether a scorer can ask its judges about the answers to a question.
 *
 * @returns What the question lacks; undefined for one that is gradable, or not judged.
 * @throws {ThriceError} `unsupported` for a kind that is not in `registry`.
 */
export function describeUngradable(
  scorerSpec: ScorerSpec,
  question: Question,
  registry: ScorerRegistry = scorerRegistry,
): string | undefined {
  const configured = configureScorer(scorerSpec, question, registry);
  if (configured?.scorer.reads !== 'verdicts') return undefined;
  const { scorer, parameters } = configured;
  if (question.target === null && scorer.isTargetOptional !== true) return undefined;
  const judged = { question, answer: ANSWER, parameters, judgeCount: 1, verdicts: new Map() };
  try {
    scorer.next(judged);
    return undefined;
  } catch (error) {
    return toThriceError(error).message;
  }
}
