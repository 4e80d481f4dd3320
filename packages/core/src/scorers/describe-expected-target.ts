import type { Question } from '../domain/question.ts';
import { configureScorer, type ScorerRegistry, type ScorerSpec } from '../domain/scorer.ts';
import { scorerRegistry } from './registry.ts';

/**
 * Checks whether a scorer can use a target.
 *
 * @returns What the scorer expects instead; undefined for a usable target.
 * @throws {ThriceError} `unsupported` for a kind that is not in `registry`.
 */
export function describeExpectedTarget(
  scorerSpec: ScorerSpec,
  target: string,
  question: Question,
  registry: ScorerRegistry = scorerRegistry,
): string | undefined {
  const configured = configureScorer(scorerSpec, question, registry);
  return configured?.scorer.describeExpectedTarget(target, question, configured.parameters);
}
