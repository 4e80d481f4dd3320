import type { Config } from '../domain/benchmark.ts';
import { isVerdict } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import type { GroupHeader } from '../domain/group.ts';
import { limits } from '../limits.ts';
import { createSelector } from '../planning/select-questions.ts';
import type { PlanStores } from './plan-group.ts';
import { readStoredQuestions, type StoredQuestion } from './read-question.ts';

/**
 * Sends the cells of a run that ended without a verdict once more, as their next generation.
 *
 * Nothing is reset here: the claim of the new task does that, so a crash in between loses nothing, and
 * sending twice is harmless. Committed calls are kept and not paid again.
 *
 * @returns How many cells were sent; those nobody attempted are in their queue anyway.
 */
export async function rerunCells(
  header: GroupHeader,
  run: string,
  configs: readonly Config[],
  stores: PlanStores,
): Promise<number> {
  let sentCount = 0;
  for (const config of configs) {
    const includes = createSelector(config.select);
    let page: StoredQuestion[] = [];
    for await (const stored of readStoredQuestions(header, stores.blobs)) {
      if (includes(stored.question)) page.push(stored);
      if (page.length < limits.pageSize) continue;
      sentCount += await sendPage(page, run, config, stores);
      page = [];
    }
    sentCount += await sendPage(page, run, config, stores);
  }
  return sentCount;
}

async function sendPage(
  page: readonly StoredQuestion[],
  run: string,
  config: Config,
  { ledger, queue }: PlanStores,
): Promise<number> {
  const cells = await ledger.readCells(
    run,
    config.name,
    page.map(({ question }) => question.id),
  );
  const tasks = page.flatMap(({ question, range }): CellTask[] => {
    const cell = cells.get(question.id);
    if (cell?.result === undefined || isVerdict(cell.result.outcome)) return [];
    const generation = cell.generation + 1;
    return [{ v: 1, run, id: question.id, config: config.name, question: range, generation }];
  });
  if (tasks.length > 0) await queue.send(config.lane, tasks);
  return tasks.length;
}
