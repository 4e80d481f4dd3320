import type { Question } from '../domain/question.ts';
import {
  CHOOSING_KIND,
  configureScorer,
  type ScorerRegistry,
  type ScorerSpec,
} from '../domain/scorer.ts';
import { scorerRegistry } from './registry.ts';

/** The kind of the scorer that grades a question by a spec; undefined where none does. */
export function gradingKindOf(
  spec: ScorerSpec,
  question: Question,
  registry: ScorerRegistry = scorerRegistry,
): string | undefined {
  // An imported group has one of another tool.
  if (spec.kind !== CHOOSING_KIND) return spec.kind;
  return configureScorer(spec, question, registry)?.scorer.kind;
}
