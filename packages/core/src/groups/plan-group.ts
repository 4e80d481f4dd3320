import type { Benchmark, Config } from '../domain/benchmark.ts';
import { type GroupHeader, groupHeaderSchema } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Random } from '../ports/random.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import {
  type CheckedQuestions,
  selectQuestions,
  serializeQuestion,
} from '../spec/questions/check-questions.ts';
import type { QuestionSource } from '../spec/questions/load-questions.ts';
import { isPlanned } from './finalize-group.ts';
import { chooseAll, sendTasks } from './send-tasks.ts';

/** Names drawn before planning fails: that many taken ones in a second mean that the draw is broken. */
const MAX_NAME_DRAWS = 100;

/** The stores a plan is written to. */
export interface PlanStores {
  readonly ledger: Ledger;
  readonly queue: Pick<TaskQueue, 'send'>;
  readonly blobs: BlobStore;
}

/** What the caller knows of a group before it has a name. */
export type GroupDraft = Omit<
  GroupHeader,
  'schemaVersion' | 'group' | 'createdAt' | 'runs' | 'questions' | 'configs'
>;

/** What a group is planned from. */
export interface GroupPlan {
  readonly benchmark: Benchmark;
  readonly draft: GroupDraft;
  readonly source: QuestionSource;
  /** What `checkQuestions` found; nothing is created before it passed. */
  readonly checked: CheckedQuestions;
  /** Why a config is left out, by name. */
  readonly skipped: ReadonlyMap<string, string>;
  readonly clock: Clock;
  /** Draws the end of the group's name. */
  readonly random: Random;
}

/**
 * Plans a group: stores its questions, its header, and one task a cell.
 *
 * State first: questions, then the header, then the tasks, then the mark that all are sent. A crash
 * in between leaves a group that {@link enqueueGroup} completes.
 *
 * @param onCreated - Told the header once it is stored: from then on the group can be resumed.
 */
export async function planGroup(
  plan: GroupPlan & {
    readonly onCreated?: (header: GroupHeader) => void;
    readonly signal?: AbortSignal;
  },
  stores: {
    readonly ledger: Ledger;
    readonly blobs: BlobStore;
    readonly queueOf: (group: string) => TaskQueue;
  },
): Promise<GroupHeader> {
  const { ledger, blobs } = stores;
  const header = await storePlan(plan, { ledger, blobs });
  plan.onCreated?.(header);
  const queue = stores.queueOf(header.group);
  await enqueueGroup(header, plan.benchmark, { ledger, blobs, queue }, plan.signal);
  return header;
}

/** Stores the questions of a group, then its header; its tasks are still to be sent. */
export async function storePlan(
  { benchmark, draft, source, checked, skipped, clock, random }: GroupPlan,
  { ledger, blobs }: Omit<PlanStores, 'queue'>,
): Promise<GroupHeader> {
  const key = `questions/${checked.sha256}.jsonl`;
  if (!(await blobs.has(key))) await blobs.write(key, serializeAll(source, draft.spec.select));
  const createdAt = clock.toIso(clock.now());
  const stem = `${draft.label}-${compactInstant(createdAt)}`;
  // Parsed for the order of its keys: a header that was read again is written the same.
  const headerOf = (group: string) =>
    groupHeaderSchema.parse({
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
    });
  return await createUnderFreeName(stem, { ledger, random, headerOf });
}

/**
 * Sends every task of a group and marks it planned; safe to repeat until it has finished once.
 *
 * @param signal - Aborts between two pages.
 * @throws {ThriceError} `interrupted` when `signal` aborts; the rest is sent by the next call.
 */
export async function enqueueGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: PlanStores,
  signal?: AbortSignal,
): Promise<void> {
  const { next } = await sendTasks(
    {
      header,
      runs: header.runs,
      configs: plannedConfigs(header, benchmark),
      choose: chooseAll,
      isOutOfTime: () => signal?.aborted === true,
    },
    stores,
  );
  if (next !== undefined) throw interrupted(header.group);
  await stores.ledger.markPlanned(header.group);
}

/** The configs that have cells in a group. */
export function plannedConfigs(header: GroupHeader, benchmark: Benchmark): readonly Config[] {
  return benchmark.configs.filter(({ name }) => isPlanned(header, name));
}

async function* serializeAll(
  source: QuestionSource,
  select: GroupHeader['spec']['select'],
): AsyncIterable<string> {
  for await (const question of selectQuestions(source, select)) yield serializeQuestion(question);
}

/**
 * Creates a group under a name that no other group has.
 *
 * The name ends in four random hex digits: groups planned in the same second in different engines or on
 * different machines may later be copied between them. A draw that is taken in this engine is drawn again.
 */
async function createUnderFreeName(
  stem: string,
  {
    ledger,
    random,
    headerOf,
  }: {
    readonly ledger: Ledger;
    readonly random: Random;
    readonly headerOf: (group: string) => GroupHeader;
  },
): Promise<GroupHeader> {
  for (let draw = 1; ; draw += 1) {
    const header = headerOf(`${stem}-${fourHexDigits(random)}`);
    try {
      await ledger.createGroup(header);
      return header;
    } catch (error) {
      const isTaken = error instanceof ThriceError && error.code === 'already-exists';
      if (!isTaken || draw === MAX_NAME_DRAWS) throw error;
    }
  }
}

function fourHexDigits(random: Random): string {
  return Math.floor(random() * 0x10000)
    .toString(16)
    .padStart(4, '0');
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
