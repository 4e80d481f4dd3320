import type { Config } from '../domain/benchmark.ts';
import { type Call, callsOf, inRecordedOrder } from '../domain/call.ts';
import type { CellRecord, CellResult } from '../domain/cell.ts';
import { AWAITING_JUDGE, type Grade, ungraded } from '../domain/grade.ts';
import type { Question } from '../domain/question.ts';
import { mapBounded } from '../map-bounded.ts';
import type { Ledger } from '../ports/ledger.ts';
import { type Grader, gradeAnswer } from '../scorers/grade-answer.ts';

/** Journals read at the same time. */
const JOURNALS_AT_ONCE = 16;

/** The grade that judges have given an answer, and what they were paid for. */
export interface JudgedGrade {
  readonly grade: Grade;
  /** Why there is none. */
  readonly error: CellResult['error'];
  /** The calls to the judges; those that no verdict came of are listed with the other discarded ones. */
  readonly calls: readonly Call[];
}

/** Where the grades of answers are read from. */
export interface GradeStores extends Grader {
  readonly ledger: Pick<Ledger, 'readCells' | 'readJournal'>;
}

/** The answers of a config in a run. */
interface JudgedCells {
  readonly run: string;
  readonly config: Config;
  /** By question. */
  readonly cells: ReadonlyMap<string, CellRecord>;
}

/**
 * Reads the grades that judges have given the answers to some questions, by question. None for a config that asks no
 * judge.
 *
 * A verdict that an earlier grading, or an earlier version of the scorer, has read is read again from the journal.
 */
export async function readGrades(
  questions: readonly Question[],
  { run, config, cells }: JudgedCells,
  stores: GradeStores,
): Promise<ReadonlyMap<string, JudgedGrade>> {
  const { gradedBy } = config;
  if (gradedBy === undefined) return new Map();
  const ids = questions.map(({ id }) => id);
  const grades = await stores.ledger.readCells(run, gradedBy.name, ids);
  const read = await mapBounded(questions, JOURNALS_AT_ONCE, async (question) => {
    const [answered, graded] = [cells.get(question.id)?.result, grades.get(question.id)];
    if (answered === undefined || graded === undefined) return [];
    return [
      [question.id, await readGrade(question, { answered, graded, config }, stores)] as const,
    ];
  });
  return new Map(read.flat());
}

async function readGrade(
  question: Question,
  {
    answered,
    graded: { key, result, attemptLog },
    config,
  }: {
    readonly answered: CellResult;
    readonly graded: CellRecord;
    readonly config: Config;
  },
  stores: GradeStores,
): Promise<JudgedGrade> {
  if (result !== undefined && result.outcome !== 'failed' && result.grading === config.grading) {
    const { outcome, score, answer, reason, metrics, calls } = result;
    const grade = {
      outcome: outcome === 'not-attempted' ? 'ungraded' : outcome,
      score,
      answer,
      reason,
    };
    return { grade: { ...grade, ...(metrics && { metrics }) }, error: null, calls };
  }
  const verdicts = inRecordedOrder(await stores.ledger.readJournal(key));
  const calls = callsOf(verdicts);
  if (result?.outcome === 'failed' && result.error !== null)
    return { grade: ungraded(result.error.code), error: result.error, calls };
  const judging = { judgeCount: config.gradedBy?.roles.length ?? 0, verdicts };
  const grade = await gradeAnswer(config.scorer, question, answered, stores, judging);
  const error = grade.reason === AWAITING_JUDGE ? (attemptLog.at(-1)?.error ?? null) : null;
  return { grade, error, calls };
}

/** An answer with the grade of its judges. Without one, it is ungraded. */
export function joinGrade(result: CellResult, judged: JudgedGrade | undefined): CellResult {
  if (judged === undefined || result.outcome === 'failed') return result;
  const { grade, error, calls } = judged;
  return { ...result, ...grade, error, calls: [...result.calls, ...calls] };
}
