import type { Benchmark } from '../domain/benchmark.ts';
import { type BuiltinPrices, type GroupHeader, groupHeaderSchema } from '../domain/group.ts';
import { scorerVersionOf } from '../domain/scorer.ts';
import { ThriceError } from '../errors.ts';
import type { ActiveGroups } from '../ports/active-groups.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { Random } from '../ports/random.ts';
import type { ResponseCache } from '../ports/response-cache.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import { BUILTIN_PRICES_VERSION } from '../pricing/builtin-prices.ts';
import { groupKey, plannedConfigs, withGradeConfigs } from '../publish/graded-group.ts';
import { scorerRegistry } from '../scorers/registry.ts';
import {
  type CheckedQuestions,
  selectQuestions,
  serializeQuestion,
} from '../spec/questions/check-questions.ts';
import type { QuestionSource } from '../spec/questions/load-questions.ts';
import { fillResponseCache, hasCallsToEnter } from './fill-response-cache.ts';
import { chooseAll, chooseMissing, sendTasks } from './send-tasks.ts';

/** Names tried before planning fails: this many collisions mean that the random source is broken. */
const MAX_NAME_DRAWS = 100;

/** The stores a plan is written to. */
export interface PlanStores {
  readonly ledger: Ledger;
  readonly queue: Pick<TaskQueue, 'send'>;
  readonly blobs: BlobStore;
}

/** The stores of a whole plan, and the response cache that its cells may take calls from. */
export interface EnqueueStores extends PlanStores {
  readonly responseCache: ResponseCache;
}

/** The parts of a group's header that the caller provides before the group has a name. */
export type GroupDraft = Omit<
  GroupHeader,
  | 'schemaVersion'
  | 'group'
  | 'createdAt'
  | 'runs'
  | 'questions'
  | 'configs'
  | 'builtinPrices'
  | 'edits'
>;

/** The input of planning. */
export interface GroupPlan {
  readonly benchmark: Benchmark;
  readonly draft: GroupDraft;
  readonly source: QuestionSource;
  /** The result of `checkQuestions`, which must pass before anything is created. */
  readonly checked: CheckedQuestions;
  /** Why a config is skipped, by config name. */
  readonly skipped: ReadonlyMap<string, string>;
  readonly clock: Clock;
  /** Provides the random suffix of the group's name. */
  readonly random: Random;
}

/** The stores that a group is created in. */
export interface CreationStores extends Omit<PlanStores, 'queue'> {
  /** The list of the reconciler. Absent on one machine, where a command repairs what an earlier one left. */
  readonly activeGroups?: Pick<ActiveGroups, 'add'> | undefined;
}

/**
 * Stores the questions of a group, then its header, and shows the plan in the group's folder. Does not send its tasks.
 *
 * The group is on the list of active groups before it exists, so that a crash right after its creation leaves a group
 * that the reconciler plans. If it is never created, the reconciler removes the entry.
 */
export async function storePlan(
  { benchmark, draft, source, checked, skipped, clock, random }: GroupPlan,
  { ledger, blobs, activeGroups }: CreationStores,
): Promise<GroupHeader> {
  const questions = questionsOf(checked);
  const writeQuestions = () =>
    storeQuestions({ checked, source, select: draft.spec.select }, blobs);
  await writeQuestions();
  const createdAt = clock.toIso(clock.now());
  const stem = `${draft.label}-${compactInstant(createdAt)}`;
  // Parsing fixes the key order, so a header that is read and written again keeps the same bytes.
  const headerOf = (group: string) =>
    groupHeaderSchema.parse({
      ...draft,
      schemaVersion: 1,
      group,
      createdAt,
      questions,
      builtinPrices: builtinPricesOf(benchmark, draft),
      runs: runsOf(group, benchmark.replicates),
      configs: planConfigs({ benchmark, checked, skipped }),
      ...(draft.spec.rulings && { plannedRulings: draft.spec.rulings }),
      edits: [],
    });
  const header = await createUnderFreeName(stem, { ledger, activeGroups, random, headerOf });
  // The last other group with these questions may have been deleted meanwhile, and they with it.
  await writeQuestions();
  await writePlan(header, blobs);
  return header;
}

/** Where the checked questions of a plan are stored. */
export function questionsOf({ sha256, count }: CheckedQuestions): GroupHeader['questions'] {
  return { key: `questions/${sha256}.jsonl`, sha256, count };
}

/** Stores the questions of a plan, unless they are stored. */
export async function storeQuestions(
  {
    checked,
    source,
    select,
  }: Pick<GroupPlan, 'checked' | 'source'> & {
    readonly select: GroupHeader['spec']['select'];
  },
  blobs: BlobStore,
): Promise<void> {
  const { key } = questionsOf(checked);
  if (await blobs.has(key)) return;
  await blobs.write(key, checked.lines ?? serializeAll(source, select));
}

/** Shows a plan in the folder of its group. */
export async function writePlan(header: GroupHeader, blobs: BlobStore): Promise<void> {
  const text = `${JSON.stringify(header, null, 2)}\n`;
  await blobs.write(groupKey(header.group, 'group.json'), [text]);
}

/** The names of the runs of a group. */
export function runsOf(group: string, replicates: number): string[] {
  return Array.from({ length: replicates }, (_, index) => `${group}-r${index + 1}`);
}

/** The prices of a plan that its spec does not give. */
export function builtinPricesOf(
  { prices }: Benchmark,
  { spec }: Pick<GroupHeader, 'spec'>,
): BuiltinPrices {
  const builtin = [...prices].filter(([model]) => !Object.hasOwn(spec.prices, model));
  return { version: BUILTIN_PRICES_VERSION, prices: Object.fromEntries(builtin) };
}

/** Plans the configs of a group. */
export function planConfigs({
  benchmark,
  checked,
  skipped,
}: Pick<GroupPlan, 'benchmark' | 'checked' | 'skipped'>): GroupHeader['configs'] {
  return benchmark.configs.map(({ name, scorer }) => ({
    config: name,
    cells: skipped.has(name) ? 0 : (checked.cellCounts.get(name) ?? 0),
    skipped: skipped.get(name) ?? null,
    scorer,
    scorerVersion: scorerVersionOf(scorer, scorerRegistry) ?? null,
  }));
}

/**
 * Sends every task of a group and marks the group planned. Safe to repeat after a failure.
 *
 * @param signal - Checked between pages.
 * @throws {ThriceError} `interrupted` when `signal` aborts; the next call sends the rest.
 */
export async function enqueueGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: EnqueueStores,
  signal?: AbortSignal,
): Promise<void> {
  const betweenPages = () => signal?.aborted === true;
  const isFilled =
    !hasCallsToEnter(header, benchmark) ||
    (await fillResponseCache({ header, benchmark, betweenPages }, stores));
  if (!isFilled || !(await sendAll(header, benchmark, { ...stores, betweenPages })))
    throw new ThriceError({ code: 'interrupted', message: 'stopped while planning' });
  await stores.ledger.markPlanned(header);
}

/** @returns Whether every task is sent. */
async function sendAll(
  header: GroupHeader,
  benchmark: Benchmark,
  { betweenPages, ...stores }: PlanStores & { readonly betweenPages: () => boolean },
): Promise<boolean> {
  const toSend = {
    header,
    runs: header.runs,
    configs: withGradeConfigs(plannedConfigs(header, benchmark)),
    // An edit leaves most cells of a group done.
    choose: header.edits.length === 0 ? chooseAll : chooseMissing(stores.ledger),
    betweenPages,
  };
  return (await sendTasks(toSend, stores)).isComplete;
}

async function* serializeAll(
  source: QuestionSource,
  select: GroupHeader['spec']['select'],
): AsyncIterable<string> {
  for await (const question of selectQuestions(source, select)) yield serializeQuestion(question);
}

/**
 * Creates a group under a unique name.
 *
 * The name ends in four random hex digits because groups that were planned in the same second by
 * different engines or machines may later be copied between them. If this engine already has a group of
 * that name, new digits are drawn.
 */
async function createUnderFreeName(
  stem: string,
  {
    ledger,
    activeGroups,
    random,
    headerOf,
  }: Pick<CreationStores, 'ledger' | 'activeGroups'> & {
    readonly random: Random;
    readonly headerOf: (group: string) => GroupHeader;
  },
): Promise<GroupHeader> {
  for (let draw = 1; ; draw += 1) {
    const header = headerOf(`${stem}-${fourHexDigits(random)}`);
    await activeGroups?.add(header.group);
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

/** Turns `2026-11-20T10:15:00.000Z` into `20261120T101500Z`, as in names of groups. */
export function compactInstant(iso: string): string {
  return `${iso.slice(0, 19).replace(/[-:]/g, '')}Z`;
}
