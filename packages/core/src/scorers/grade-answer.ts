import type { ScorerSpec } from '../domain/benchmark-spec.ts';
import type { FinishReason, ModelOutput } from '../domain/call.ts';
import type { Question } from '../domain/question.ts';
import { assertNever } from '../errors.ts';
import { extractBbhAnswer } from './extract-bbh-answer.ts';
import { extractChoice } from './extract-choice.ts';
import { extractNumber, parseNumber } from './extract-number.ts';

/** What an answer came to: the fields of a cell's result that scoring decides. */
export interface Grade {
  readonly outcome: 'scored' | 'unparsed' | 'ungraded';
  readonly score: number | null;
  readonly answer: string | null;
  readonly reason: string | null;
}

/** Written into manifests: a change of any scorer's rule changes its number. */
export const scorerVersions: Readonly<Record<ScorerSpec['kind'], number>> = {
  exact: 1,
  choice: 1,
  numeric: 1,
  includes: 1,
  regex: 1,
  bbh: 1,
};

/**
 * Scores what a model said.
 *
 * `scored` carries 0 or 1; `unparsed` (no text, or nothing in it that the scorer can read) scores 0
 * with the reason; `ungraded` means the question has no target to compare with: whatever came, it is
 * neither right nor wrong.
 */
export function gradeAnswer(
  scorer: ScorerSpec,
  question: Question,
  output: ModelOutput,
  finishReason: FinishReason | null,
): Grade {
  const text = output.text;
  if (question.target === null) {
    return { outcome: 'ungraded', score: null, answer: text, reason: 'no-target' };
  }
  if (output.refusal !== null) return unparsed('refused', output.refusal);
  if (text === null) return unparsed(missingTextReason(output, finishReason), null);
  if (text === '' && finishReason !== 'stop')
    return unparsed(missingTextReason(output, finishReason), '');
  const answer = extractAnswer(scorer, text, question);
  if (answer === undefined) return unparsed(`no-${nounOf(scorer)}`, null);
  const isCorrect = question.target.some((target) => isMatch(scorer, answer, target, question));
  return { outcome: 'scored', score: isCorrect ? 1 : 0, answer, reason: null };
}

function unparsed(reason: string, answer: string | null): Grade {
  return { outcome: 'unparsed', score: 0, answer, reason };
}

function missingTextReason(output: ModelOutput, finishReason: FinishReason | null): string {
  if (finishReason === 'length') return 'cut-off';
  return output.reasoning === null ? 'no-text' : 'reasoning-only';
}

function nounOf(scorer: ScorerSpec): string {
  if (scorer.kind === 'choice') return 'choice';
  return scorer.kind === 'numeric' ? 'number' : 'match';
}

function extractAnswer(scorer: ScorerSpec, text: string, question: Question): string | undefined {
  switch (scorer.kind) {
    case 'exact':
    case 'includes':
      return text.trim();
    case 'bbh':
      return extractBbhAnswer(text);
    case 'choice':
      return extractChoice(text, question.choices ?? []);
    case 'numeric':
      return extractNumber(text);
    case 'regex': {
      const match = new RegExp(scorer.pattern, 'u').exec(text);
      return match?.[1] ?? match?.[0];
    }
    default:
      return assertNever(scorer);
  }
}

function isMatch(scorer: ScorerSpec, answer: string, target: string, question: Question): boolean {
  switch (scorer.kind) {
    case 'exact':
    case 'regex':
      return answer === target.trim();
    case 'bbh':
      return answer === target;
    case 'includes':
      return answer.toLowerCase().includes(target.trim().toLowerCase());
    case 'choice':
      return answer === (extractChoice(target, question.choices ?? []) ?? target.trim());
    case 'numeric': {
      const [given, wanted] = [parseNumber(answer), parseNumber(target)];
      if (given === undefined || wanted === undefined) return false;
      return Math.abs(given - wanted) <= scorer.tolerance;
    }
    default:
      return assertNever(scorer);
  }
}
