import type { Benchmark, Config } from '../domain/benchmark.ts';
import type { CellTask } from '../domain/cell-task.ts';
import type { GroupHeader } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import {
  type CheckedQuestions,
  selectQuestions,
  serializeQuestion,
} from '../planning/check-questions.ts';
import type { QuestionSource } from '../planning/load-questions.ts';
import { createSelector } from '../planning/select-questions.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import { readStoredQuestions } from './read-question.ts';

/** The stores a plan is written to. */
export interface PlanStores {
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly blobs: BlobStore;
}

/** What the caller knows of a group before it has a name. */
export type GroupDraft = Omit<
  GroupHeader,
  'schemaVersion' | 'group' | 'createdAt' | 'runs' | 'questions' | 'configs'
>;

/**
 * Plans a group: stores its questions, its header, and one task a cell.
 *
 * State first: questions, then the header, then the tasks, then the mark that all are sent. A crash
 * in between leaves a group that {@link enqueueGroup} completes.
 *
 * @param checked - What `checkQuestions` found; nothing is created before it passed.
 * @param skipped - Why a config is left out, by name.
 * @param onCreated - Told the header once it is stored: from then on the group can be resumed.
 */
export async function planGroup(
  {
    benchmark,
    draft,
    source,
    checked,
    skipped,
    clock,
    onCreated,
    signal,
  }: {
    readonly benchmark: Benchmark;
    readonly draft: GroupDraft;
    readonly source: QuestionSource;
    readonly checked: CheckedQuestions;
    readonly skipped: ReadonlyMap<string, string>;
    readonly clock: Clock;
    readonly onCreated?: (header: GroupHeader) => void;
    readonly signal?: AbortSignal;
  },
  stores: {
    readonly ledger: Ledger;
    readonly blobs: BlobStore;
    readonly queueOf: (group: string) => TaskQueue;
  },
): Promise<GroupHeader> {
  const key = `questions/${checked.sha256}.jsonl`;
  if (!(await stores.blobs.has(key))) {
    await stores.blobs.write(key, serializeAll(source, draft.spec.select));
  }
  const createdAt = clock.toIso(clock.now());
  const wanted = `${draft.label}-${compactInstant(createdAt)}`;
  const header = await createUnderFreeName(wanted, stores.ledger, (group) => ({
    ...draft,
    schemaVersion: 1,
    group,
    createdAt,
    questions: { key, sha256: checked.sha256, count: checked.count },
    runs: Array.from({ length: benchmark.replicates }, (_, index) => `${group}-r${index + 1}`),
    configs: benchmark.configs.map(({ name }) => ({
      config: name,
      cells: skipped.has(name) ? 0 : (checked.cellCounts.get(name) ?? 0),
      skipped: skipped.get(name) ?? null,
    })),
  }));
  onCreated?.(header);
  const { ledger, blobs } = stores;
  const queue = stores.queueOf(header.group);
  await enqueueGroup(header, benchmark, { ledger, blobs, queue }, signal);
  return header;
}

/**
 * Sends every task of a group and marks it planned; safe to repeat until it has finished once.
 *
 * @param signal - Aborts between two batches.
 * @throws {ThriceError} `interrupted` when `signal` aborts; the rest is sent by the next call.
 */
export async function enqueueGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: PlanStores,
  signal?: AbortSignal,
): Promise<void> {
  const planned = header.configs.filter(({ cells }) => cells > 0).map(({ config }) => config);
  const configs = benchmark.configs.filter(({ name }) => planned.includes(name));
  for (const run of header.runs) {
    for await (const { lane, tasks } of planTasks(header, run, configs, stores.blobs)) {
      if (signal?.aborted === true) throw interrupted(header.group);
      await stores.queue.send(lane, tasks);
    }
  }
  await stores.ledger.markPlanned(header.group);
}

/** The tasks of one run, question by question, in batches a lane. */
async function* planTasks(
  header: GroupHeader,
  run: string,
  configs: readonly Config[],
  blobs: BlobStore,
): AsyncIterable<{ readonly lane: string; readonly tasks: readonly CellTask[] }> {
  const selected = configs.map((config) => ({ config, includes: createSelector(config.select) }));
  const pending = new Map<string, CellTask[]>();
  for await (const { question, range } of readStoredQuestions(header, blobs)) {
    for (const { config, includes } of selected) {
      if (!includes(question)) continue;
      const tasks = pending.get(config.lane) ?? [];
      pending.set(config.lane, tasks);
      tasks.push({
        v: 1,
        run,
        id: question.id,
        config: config.name,
        question: range,
        generation: 0,
      });
      if (tasks.length < limits.pageSize) continue;
      pending.delete(config.lane);
      yield { lane: config.lane, tasks };
    }
  }
  for (const [lane, tasks] of pending) yield { lane, tasks };
}

async function* serializeAll(
  source: QuestionSource,
  select: GroupHeader['spec']['select'],
): AsyncIterable<string> {
  for await (const question of selectQuestions(source, select)) yield serializeQuestion(question);
}

/** Creates a group under the wanted name or, where that is taken, the same with a number. */
async function createUnderFreeName(
  wanted: string,
  ledger: Ledger,
  headerOf: (group: string) => GroupHeader,
): Promise<GroupHeader> {
  for (let suffix = 1; ; suffix += 1) {
    const header = headerOf(suffix === 1 ? wanted : `${wanted}-${suffix}`);
    try {
      await ledger.createGroup(header);
      return header;
    } catch (error) {
      if (!(error instanceof ThriceError) || error.code !== 'already-exists') throw error;
    }
  }
}

function interrupted(group: string): ThriceError {
  return new ThriceError({
    code: 'interrupted',
    message: `stopped while planning; go on with: thrice resume ${group}`,
  });
}

/** `2026-11-20T10:15:00.000Z` as `20261120T101500Z`. */
function compactInstant(iso: string): string {
  return `${iso.slice(0, 19).replace(/[-:]/g, '')}Z`;
}
