import type { Grade, MetricDeclaration, Metrics } from '../../domain/grade.ts';
import type { Question } from '../../domain/question.ts';
import type { fence } from './fence.ts';

/** What a judge says of an answer. */
export interface Verdict {
  readonly isCorrect: boolean;
  /** The final answer of the response; null if the judge finds none. */
  readonly extracted: string | null;
  /** The confidence that the response states, 0..1; null if the judge finds none. Absent: it is not asked. */
  readonly confidence?: number | null;
}

/** What a judge is asked, and how its reply is read. */
export interface JudgeForm {
  /** The prompt of a table without one. */
  readonly prompt: string;
  /** How texts of others are placed in any prompt of the form. @default between marks that none of them contains */
  readonly place?: typeof fence;
  /** Finds in the text of an answer what is judged. */
  readResponse(text: string): string;
  /** The grade of a response that no judge has to read; undefined for any other. */
  gradeUnasked(response: string, question: Question): Grade | undefined;
  /** Reads a reply, as it was sent, about a response; undefined for one that is no verdict. */
  readReply(reply: string, response: string): Verdict | undefined;
  /** What it says beside right or wrong. @default nothing */
  readonly metrics?: {
    readonly declared: readonly MetricDeclaration[];
    /** @param isCorrect - What the judges say, as {@link readReply} reads them; undefined for a tie. */
    of(replies: readonly string[], isCorrect: boolean | undefined): Metrics;
  };
}

/** What most say; undefined if as many say yes as no. */
export function majorityOf(votes: readonly boolean[]): boolean | undefined {
  const yes = votes.filter((vote) => vote).length;
  return yes * 2 === votes.length ? undefined : yes * 2 > votes.length;
}
