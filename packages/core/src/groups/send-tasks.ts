import { readStoredQuestions, type StoredQuestion } from '../cells/read-question.ts';
import type { Config } from '../domain/benchmark.ts';
import { hasScore } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { WalkPosition } from '../domain/group-request.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import { giveUpEndlessPatterns } from '../scorers/give-up-endless-patterns.ts';
import type { Grader } from '../scorers/grade-answer.ts';
import { gradeResult } from '../scorers/grade-result.ts';
import { createSelector, type Selector } from '../spec/questions/select-questions.ts';

/** Chooses the tasks to send for some questions of a config in a run. */
export type ChooseTasks = (
  run: string,
  config: string,
  questions: readonly StoredQuestion[],
) => Promise<readonly CellTask[]>;

/** Chooses every cell in its planned generation. */
export const chooseAll: ChooseTasks = async (run, config, questions) =>
  questions.map((stored) => toTask(run, config, stored, 0));

/** Chooses the cells that have no result, including those a worker holds. */
export function chooseMissing(ledger: Ledger): ChooseTasks {
  return async (run, config, questions) => {
    const ids = questions.map(({ question }) => question.id);
    const cells = await ledger.readCells(run, config, ids);
    return questions.flatMap((stored) => {
      const cell = cells.get(stored.question.id);
      if (cell?.result !== undefined) return [];
      return [toTask(run, config, stored, cell?.generation ?? 0)];
    });
  };
}

/**
 * Chooses the cells that ended without a score and have none under the current grading either, in their next
 * generation. Their calls are kept.
 *
 * A cell whose score is gone since a rescore is not chosen: its recorded answer would get the same grade again.
 *
 * @param configs - With the scorers of the current grading.
 */
export function chooseFailed(
  ledger: Ledger,
  configs: readonly Config[],
  grader: Grader,
): ChooseTasks {
  const current = { ...grader, patterns: giveUpEndlessPatterns(grader.patterns) };
  const configOf = new Map(configs.map((config) => [config.name, config]));
  return async (run, name, questions) => {
    const ids = questions.map(({ question }) => question.id);
    const cells = await ledger.readCells(run, name, ids);
    const config = configOf.get(name);
    const tasks: CellTask[] = [];
    for (const stored of questions) {
      const cell = cells.get(stored.question.id);
      if (cell?.result === undefined || hasScore(cell.result.outcome)) continue;
      const result =
        config === undefined
          ? cell.result
          : await gradeResult(cell.result, stored.question, config, current);
      if (!hasScore(result.outcome)) tasks.push(toTask(run, name, stored, cell.generation + 1));
    }
    return tasks;
  };
}

function toTask(
  run: string,
  config: string,
  { question, range }: StoredQuestion,
  generation: number,
): CellTask {
  return { v: 1, run, id: question.id, config, question: range, generation };
}

/** Which tasks of a group to send. */
export interface TaskWalk {
  readonly header: GroupHeader;
  readonly runs: readonly string[];
  readonly configs: readonly Config[];
  readonly choose: ChooseTasks;
  /** Where to start. @default the first question of the first run */
  readonly from?: WalkPosition | undefined;
  /** Checked between pages of `limits.pageSize` questions; at least one page is sent. @default never */
  readonly isOutOfTime?: () => boolean;
}

/** Where questions are read and tasks are sent. */
export interface TaskStores {
  readonly blobs: BlobStore;
  readonly queue: Pick<TaskQueue, 'send'>;
}

/** How a walk ended. */
export interface WalkEnd {
  readonly sentCount: number;
  /** Where to resume; undefined once every task is sent. */
  readonly next: WalkPosition | undefined;
}

/**
 * Sends tasks of a group run by run and, within a lane, question by question.
 *
 * Sending a task twice is harmless, so an interrupted walk may restart anywhere before the place where it
 * stopped.
 */
export async function sendTasks(tasks: TaskWalk, stores: TaskStores): Promise<WalkEnd> {
  const { runs, from } = tasks;
  const walk = { ...tasks, isOutOfTime: skipFirstCheck(tasks.isOutOfTime) };
  let sentCount = 0;
  const firstIndex = from === undefined ? 0 : Math.max(0, runs.indexOf(from.run));
  for (const run of runs.slice(firstIndex)) {
    const offset = run === from?.run ? from.offset : 0;
    for await (const step of sendRun(run, offset, walk, stores)) {
      if ('next' in step) return { sentCount, next: step.next };
      sentCount += step.sentCount;
    }
  }
  return { sentCount, next: undefined };
}

/** Returns false the first time, so that a walk that spent its time skipping still makes progress. */
function skipFirstCheck(isOutOfTime: () => boolean = () => false): () => boolean {
  let isFirst = true;
  return () => {
    if (!isFirst) return isOutOfTime();
    isFirst = false;
    return false;
  };
}

/** Sends page after page. When time runs out, yields the position at which to resume and stops. */
async function* sendRun(
  run: string,
  startOffset: number,
  walk: TaskWalk & { readonly isOutOfTime: () => boolean },
  { blobs, queue }: TaskStores,
): AsyncIterable<{ readonly sentCount: number } | { readonly next: WalkPosition }> {
  // Selectors count questions, so they must see every one, including those before the start.
  const selectors = walk.configs.map(({ select }) => createSelector(select));
  for await (const page of readPages(walk.header, blobs)) {
    const chosen = page.map((stored) => ({ stored, configs: applyAll(selectors, stored) }));
    // A page that contains the start is sent whole: the page size may have changed since.
    if ((page.at(-1)?.range.offset ?? 0) < startOffset) continue;
    if (walk.isOutOfTime()) {
      yield { next: { run, offset: page[0]?.range.offset ?? 0 } };
      return;
    }
    for (const [lane, tasks] of await chooseOnPage(run, chosen, walk)) {
      await queue.send(lane, tasks);
      yield { sentCount: tasks.length };
    }
  }
}

function applyAll(
  selectors: readonly Selector[],
  { question }: StoredQuestion,
): readonly boolean[] {
  return selectors.map((includes) => includes(question));
}

/** Returns the tasks of a page by lane, in question order. */
async function chooseOnPage(
  run: string,
  page: readonly { readonly stored: StoredQuestion; readonly configs: readonly boolean[] }[],
  { configs, choose }: TaskWalk,
): Promise<ReadonlyMap<string, readonly CellTask[]>> {
  const byConfig = await Promise.all(
    configs.map(async ({ name }, index) => {
      const questions = page.filter((entry) => entry.configs[index]).map(({ stored }) => stored);
      const tasks = questions.length === 0 ? [] : await choose(run, name, questions);
      return new Map(tasks.map((task) => [task.id, task]));
    }),
  );
  const byLane = new Map<string, CellTask[]>();
  for (const { stored } of page) {
    for (const [index, { lane }] of configs.entries()) {
      const task = byConfig[index]?.get(stored.question.id);
      if (task === undefined) continue;
      const tasks = byLane.get(lane) ?? [];
      byLane.set(lane, tasks);
      tasks.push(task);
    }
  }
  return byLane;
}

async function* readPages(
  header: GroupHeader,
  blobs: BlobStore,
): AsyncIterable<readonly StoredQuestion[]> {
  let page: StoredQuestion[] = [];
  for await (const stored of readStoredQuestions(header, blobs)) {
    page.push(stored);
    if (page.length < limits.pageSize) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
