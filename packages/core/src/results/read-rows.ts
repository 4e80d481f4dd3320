import { readStoredQuestions } from '../cells/read-question.ts';
import type { Config } from '../domain/benchmark.ts';
import { type CellRecord, type CellResult, type CellRow, noAnswer } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import { type Grader, gradeAnswer } from '../scorers/grade-answer.ts';
import { createSelector } from '../spec/questions/select-questions.ts';

/** What rows are read from. An answer that another grading graded is graded again on the way. */
export interface RowStores extends Grader {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
}

/**
 * Reads the published rows of one config in one run from the ledger, in question order.
 *
 * Every planned cell has a row, including cells that were never attempted. Grades are those of the
 * config's scorer.
 */
export async function* readRows(
  header: GroupHeader,
  run: string,
  config: Config,
  stores: RowStores,
): AsyncIterable<CellRow> {
  for await (const { row } of readQuestionRows(header, run, config, stores)) yield row;
}

/** A published row and its question. */
export interface QuestionRow {
  readonly question: Question;
  readonly row: CellRow;
}

/** Like {@link readRows}, but yields each row with its question. */
export async function* readQuestionRows(
  header: GroupHeader,
  run: string,
  config: Config,
  stores: RowStores,
): AsyncIterable<QuestionRow> {
  let page: Question[] = [];
  const includes = createSelector(config.select);
  for await (const { question } of readStoredQuestions(header, stores.blobs)) {
    if (!includes(question)) continue;
    page.push(question);
    if (page.length < limits.pageSize) continue;
    yield* rowsOf(page, run, config, stores);
    page = [];
  }
  yield* rowsOf(page, run, config, stores);
}

async function* rowsOf(
  page: readonly Question[],
  run: string,
  config: Config,
  stores: RowStores,
): AsyncIterable<QuestionRow> {
  const ids = page.map(({ id }) => id);
  const cells = await stores.ledger.readCells(run, config.name, ids);
  for (const question of page) {
    const cell = cells.get(question.id);
    const stored = cell?.result;
    // Most results have the right grade: no promise for each of them.
    const result =
      stored === undefined || isGradedBy(config, stored)
        ? stored
        : await gradeResult(stored, question, config, stores);
    yield { question, row: toRow(question, run, config, cell && { ...cell, result }) };
  }
}

/** A failed cell has no answer to grade. */
function isGradedBy(config: Config, { outcome, grading }: CellResult): boolean {
  return outcome === 'failed' || grading === config.grading;
}

/** Returns a result with the grade of the config's scorer, made again if another grading made it. */
export async function gradeResult(
  result: CellResult,
  question: Question,
  config: Config,
  grader: Grader,
): Promise<CellResult> {
  if (isGradedBy(config, result)) return result;
  const grade = await gradeAnswer(config.scorer, question, result, grader);
  return { ...result, ...grade, grading: config.grading };
}

function toRow(
  question: Question,
  run: string,
  config: Config,
  cell: CellRecord | undefined,
): CellRow {
  const result = cell?.result ?? describeUnfinished(cell);
  return {
    schemaVersion: 1,
    run,
    id: question.id,
    config: config.name,
    outcome: result.outcome,
    score: result.score,
    answer: result.answer,
    output: result.output,
    refusal: result.refusal,
    finishReason: result.finishReason,
    hasReasoning: result.hasReasoning,
    target: question.target,
    confidence: null,
    reason: result.reason,
    error: result.error,
    attempts: result.attempts,
    costUsd: result.costUsd,
    latencyMs: result.latencyMs,
    startedAt: result.startedAt,
    finishedAt: result.finishedAt,
    tags: question.tags,
    calls: result.calls,
    wasteUsd: wastedCost(cell),
  };
}

/** The row of a cell without a result; it shows the last error, if there was one. */
function describeUnfinished(
  cell: CellRecord | undefined,
): Pick<CellRow, Exclude<keyof CellResult, 'grading'>> {
  const error = cell?.attemptLog.at(-1)?.error ?? null;
  return {
    outcome: 'not-attempted',
    score: null,
    answer: null,
    ...noAnswer,
    reason: error?.code ?? null,
    error,
    attempts: cell?.attempts ?? 0,
    costUsd: null,
    latencyMs: null,
    startedAt: null,
    finishedAt: null,
    calls: [],
  };
}

/** The cost of failed attempts: 0 if there are none, null if the cost of any sent request is unknown. */
function wastedCost(cell: CellRecord | undefined): number | null {
  const sent = (cell?.attemptLog ?? []).filter(({ latencyMs }) => latencyMs !== null);
  return sent.reduce<number | null>(
    (sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd),
    0,
  );
}
