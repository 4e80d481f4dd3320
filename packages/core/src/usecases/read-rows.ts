import type { Config } from '../domain/benchmark.ts';
import type { CellRecord, CellRow } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { limits } from '../limits.ts';
import { createSelector } from '../planning/select-questions.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import { readStoredQuestions } from './read-question.ts';

/**
 * The published rows of one config in one run, in question order, straight from the ledger.
 *
 * Every planned cell has its row, also those that nobody attempted.
 */
export async function* readRows(
  header: GroupHeader,
  run: string,
  config: Config,
  stores: { readonly ledger: Ledger; readonly blobs: BlobStore },
): AsyncIterable<CellRow> {
  let page: Question[] = [];
  const includes = createSelector(config.select);
  for await (const { question } of readStoredQuestions(header, stores.blobs)) {
    if (!includes(question)) continue;
    page.push(question);
    if (page.length < limits.pageSize) continue;
    yield* rowsOf(page, run, config, stores.ledger);
    page = [];
  }
  yield* rowsOf(page, run, config, stores.ledger);
}

async function* rowsOf(
  page: readonly Question[],
  run: string,
  config: Config,
  ledger: Ledger,
): AsyncIterable<CellRow> {
  const ids = page.map(({ id }) => id);
  const cells = await ledger.readCells(run, config.name, ids);
  for (const question of page) yield toRow(question, run, config, cells.get(question.id));
}

function toRow(
  question: Question,
  run: string,
  config: Config,
  cell: CellRecord | undefined,
): CellRow {
  const result = cell?.result;
  const lastError = cell?.attempts.at(-1)?.error ?? null;
  return {
    schemaVersion: 1,
    run,
    id: question.id,
    config: config.name,
    outcome: result?.outcome ?? 'not-attempted',
    score: result?.score ?? null,
    answer: result?.answer ?? null,
    target: question.target,
    confidence: null,
    reason: result === undefined ? (lastError?.code ?? null) : result.reason,
    error: result === undefined ? lastError : result.error,
    tries: result?.tries ?? cell?.tries ?? 0,
    costUsd: result?.costUsd ?? null,
    latencyMs: result?.latencyMs ?? null,
    startedAt: result?.startedAt ?? null,
    finishedAt: result?.finishedAt ?? null,
    tags: question.tags,
    calls: result?.calls ?? [],
    wastedCostUsd: wastedCost(cell),
  };
}

/** What failed attempts are known to have cost; null if nothing is known of any. */
function wastedCost(cell: CellRecord | undefined): number | null {
  const known = (cell?.attempts ?? []).flatMap(({ costUsd }) =>
    costUsd === null ? [] : [costUsd],
  );
  return known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0);
}
