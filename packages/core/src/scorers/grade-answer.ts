import type { FinishReason, ModelOutput } from '../domain/call.ts';
import type { Question } from '../domain/question.ts';
import { configureScorer, type ScorerRegistry, type ScorerSpec } from '../domain/scorer.ts';
import { scorerRegistry } from './registry.ts';

/** The fields of a cell's result that scoring decides. */
export interface Grade {
  readonly outcome: 'scored' | 'unparsed' | 'ungraded';
  readonly score: number | null;
  readonly answer: string | null;
  readonly reason: string | null;
}

/**
 * Grades a model's output.
 *
 * - `scored`: score 0 or 1.
 * - `unparsed`: no text, or no answer in it that the scorer can read; score 0, with the reason.
 * - `ungraded`: the question has no target, so the answer is neither right nor wrong.
 *
 * @param registry - Where the scorer's kind is looked up. @default the built-in scorers
 * @throws {ThriceError} `unsupported` for a kind that is not in `registry`.
 */
export function gradeAnswer(
  scorerSpec: ScorerSpec,
  question: Question,
  output: ModelOutput,
  finishReason: FinishReason | null,
  registry: ScorerRegistry = scorerRegistry,
): Grade {
  const { scorer, parameters } = configureScorer(scorerSpec, registry);
  const text = output.text;
  if (question.target === null) {
    return { outcome: 'ungraded', score: null, answer: text, reason: 'no-target' };
  }
  if (output.refusal !== null) return unparsed('refused', output.refusal);
  // An empty text is an answer only if the model stopped of its own accord.
  if (text === null || (text === '' && finishReason !== 'stop')) {
    return unparsed(missingTextReason(output, finishReason), text);
  }
  const answer = scorer.read(text, question, parameters);
  if (answer === undefined) return unparsed(`no-${scorer.answerNoun}`, null);
  const isCorrect = question.target.some((target) =>
    scorer.matches(answer, target, question, parameters),
  );
  return { outcome: 'scored', score: isCorrect ? 1 : 0, answer, reason: null };
}

function unparsed(reason: string, answer: string | null): Grade {
  return { outcome: 'unparsed', score: 0, answer, reason };
}

function missingTextReason(output: ModelOutput, finishReason: FinishReason | null): string {
  if (finishReason === 'length') return 'cut-off';
  return output.reasoning === null ? 'no-text' : 'reasoning-only';
}
