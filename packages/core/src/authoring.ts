import type { MetricDeclaration } from './domain/grade.ts';
import type { Question } from './domain/question.ts';

/** An answer as a scorer of one's own is given it. */
export interface AnswerToScore
  extends Pick<
    Question,
    'id' | 'question' | 'messages' | 'choices' | 'target' | 'rubric' | 'tags' | 'metadata'
  > {
  /** What the model said, as it was recorded. */
  readonly output: string | null;
  /** The same without reasoning that the model wrote into it. */
  readonly answer: string;
  /** Whether the token limit ended it. */
  readonly isCutOff: boolean;
}

/** What a scorer of one's own says of an answer. */
export interface OwnGrade {
  /** 0..1, or right and wrong; null for an answer that it cannot grade, which then counts only in coverage. */
  readonly score: number | boolean | null;
  /** What it found in the text. @default null */
  readonly answer?: string | null;
  /** Why, at most 500 characters. @default null */
  readonly reason?: string | null;
  /** Those that it declares; null for one that the answer does not have. @default all null */
  readonly metrics?: Readonly<Record<string, number | null>>;
}

/** A scorer of one's own: the default export of a file that a spec names. */
export interface OwnScorer {
  /** Recorded with each grade; raise it with every change of what it accepts. Integer >= 0. */
  readonly version: number;
  /** Named figures beside the score, by names of lower-case letters, digits and "_". @default none */
  readonly metrics?: Readonly<
    Record<
      string,
      Partial<Pick<MetricDeclaration, 'unit' | 'better'>> & {
        /** Least and most; null for no bound. @default no bounds */
        readonly range?: readonly [number | null, number | null];
      }
    >
  >;
  /** Pure: the same answer always gives the same grade. */
  score(answer: AnswerToScore): OwnGrade | Promise<OwnGrade>;
}

/** Gives a scorer of one's own its types. */
export function scorer<Own extends OwnScorer>(own: Own): Own {
  return own;
}
