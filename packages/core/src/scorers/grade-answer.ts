import type { RecordedAnswer } from '../domain/cell.ts';
import type { Question } from '../domain/question.ts';
import {
  type AnswerText,
  configureScorer,
  type Pattern,
  type ScorerRegistry,
  type ScorerSpec,
} from '../domain/scorer.ts';
import { limits } from '../limits.ts';
import type { PatternMatch, PatternMatcher } from '../ports/pattern-matcher.ts';
import { scorerRegistry } from './registry.ts';
import { stripReasoning } from './strip-reasoning.ts';

/** The fields of a cell's result that scoring decides. */
export interface Grade {
  readonly outcome: 'scored' | 'unparsed' | 'ungraded';
  readonly score: number | null;
  readonly answer: string | null;
  readonly reason: string | null;
}

/** What grading needs besides the answer. */
export interface Grader {
  readonly patterns: PatternMatcher;
  /** Where a scorer's kind is looked up. @default the built-in scorers */
  readonly scorers?: ScorerRegistry | undefined;
  /** The longest that a scorer's pattern may take. @default `limits.patternMs` */
  readonly patternLimitMs?: number | undefined;
}

/**
 * Grades a recorded answer.
 *
 * - `scored`: score 0 or 1.
 * - `unparsed`: no text, nothing but reasoning (`reasoning-only`), or no answer in it that the scorer can
 *   read (`no-...`, or `cut-off` if the token limit ended the text before one); score 0, with the reason.
 * - `ungraded`: the question has no target, so the answer is neither right nor wrong; or the scorer's
 *   pattern took too long (`scorer-timeout`) or could not be run (`scorer-failed`).
 *
 * @throws {ThriceError} `unsupported` for a kind that is not registered.
 */
export async function gradeAnswer(
  scorerSpec: ScorerSpec,
  question: Question,
  recorded: RecordedAnswer,
  grader: Grader,
): Promise<Grade> {
  const { scorer, parameters } = configureScorer(scorerSpec, grader.scorers ?? scorerRegistry);
  const { output: text, refusal } = recorded;
  const { target: targets } = question;
  if (targets === null) return ungraded('no-target', text);
  if (refusal !== null) return unparsed('refused', refusal);
  const answerText = toAnswerText(recorded);
  if (answerText === undefined) return unparsed(missingTextReason(recorded), null);
  const found = scorer.read(answerText, question, parameters);
  const reading = await findAnswer(found, answerText.text, grader);
  switch (reading.kind) {
    case 'timeout':
      return ungraded('scorer-timeout', null);
    case 'error':
      return ungraded('scorer-failed', null);
    case 'none':
      return unparsed(answerText.isCutOff ? 'cut-off' : `no-${scorer.answerNoun}`, null);
    case 'found': {
      const { text: answer } = reading;
      const isCorrect = targets.some((target) =>
        scorer.matches(answer, target, question, parameters),
      );
      return { outcome: 'scored', score: isCorrect ? 1 : 0, answer, reason: null };
    }
  }
}

/**
 * Finds the answer that a scorer reads in a recorded answer, whether or not the question has a target.
 *
 * @returns Undefined if it finds none, or could not look.
 */
export async function readAnswer(
  scorerSpec: ScorerSpec,
  question: Question,
  recorded: RecordedAnswer,
  grader: Grader,
): Promise<string | undefined> {
  const { scorer, parameters } = configureScorer(scorerSpec, grader.scorers ?? scorerRegistry);
  const answerText = recorded.refusal === null ? toAnswerText(recorded) : undefined;
  if (answerText === undefined) return undefined;
  const found = scorer.read(answerText, question, parameters);
  const reading = await findAnswer(found, answerText.text, grader);
  return reading.kind === 'found' ? reading.text : undefined;
}

/** Returns what a scorer reads; undefined if the model gave no answer, not even a bad one. */
function toAnswerText({ output, finishReason }: RecordedAnswer): AnswerText | undefined {
  if (output === null) return undefined;
  const text = stripReasoning(output);
  // An empty text is an answer only if the model stopped of its own accord.
  const isAnswer = text !== '' || (output === '' && finishReason === 'stop');
  return isAnswer ? { text, isCutOff: finishReason === 'length' } : undefined;
}

/** Runs the pattern, if a scorer returned one. */
async function findAnswer(
  found: string | Pattern | undefined,
  text: string,
  { patterns, patternLimitMs = limits.patternMs }: Grader,
): Promise<PatternMatch> {
  if (found === undefined) return { kind: 'none' };
  if (typeof found === 'string') return { kind: 'found', text: found };
  return await patterns.match(found, text, patternLimitMs);
}

function ungraded(reason: string, answer: string | null): Grade {
  return { outcome: 'ungraded', score: null, answer, reason };
}

function unparsed(reason: string, answer: string | null): Grade {
  return { outcome: 'unparsed', score: 0, answer, reason };
}

function missingTextReason({ output, finishReason, hasReasoning }: RecordedAnswer): string {
  if (finishReason === 'length') return 'cut-off';
  return hasReasoning === true || output ? 'reasoning-only' : 'no-text';
}
