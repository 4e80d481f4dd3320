import { laneOf } from '../domain/breaker.ts';
import { type CellRecord, hasScore } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import type { CellDlqEntry, DlqEntry } from '../domain/dlq-entry.ts';
import { groupOfRun } from '../domain/group.ts';
import type { ActiveGroups } from '../ports/active-groups.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import { cellNameOf, isCellDlqEntry, readCellsOf } from './cells.ts';
import { type DlqSelection, matchesFilter } from './filter.ts';

/** What a replay works with. */
export interface ReplayStores {
  readonly ledger: Ledger;
  readonly queue: Pick<TaskQueue, 'send'>;
  readonly activeGroups: Pick<ActiveGroups, 'add'>;
  /** The lanes that have a queue. */
  readonly lanes: ReadonlySet<string>;
}

/** What a replay or a drop did. A cell may have several messages. */
export interface DlqReport {
  readonly messages: {
    /** Looked at; all others are parts of it. */
    readonly seen: number;
    readonly matched: number;
    /** Removed after their cell's task was sent. */
    readonly replayed: number;
    /** Removed because their cell has gone on since. */
    readonly stale: number;
    /** Removed as asked. */
    readonly dropped: number;
    /** Matched, and no cell's. */
    readonly unreadable: number;
    /** Still there, matched or not. */
    readonly kept: number;
  };
  readonly cells: {
    readonly matched: number;
    /** Whose task was sent. */
    readonly replayed: number;
  };
  /** Why matching messages stay, and how many for each reason. */
  readonly problems: readonly { readonly problem: string; readonly messages: number }[];
  /** Messages that were in other hands; see `DlqScan`. */
  readonly unseen: number;
  /** It was stopped before it had seen everything. */
  readonly isInterrupted: boolean;
}

/** What becomes of a message that is meant. */
type EntryOutcome =
  | { readonly kind: 'replayed' | 'stale' | 'dropped' }
  | { readonly kind: 'kept'; readonly problem: string };

interface ProcessedEntry {
  readonly entry: DlqEntry;
  readonly outcome: EntryOutcome;
}

/**
 * Sends the cells of DLQ messages to their lanes once more and removes the messages.
 *
 * State first: the group is active and watched before a task is sent, a task is sent before its message is
 * removed. Whoever is killed in between leaves a message that is replayed again, which has the effect of
 * one: a task's generation follows from its message and the ledger alone.
 *
 * A cell is sent once: when it fails again before the end, the message of that stays.
 *
 * @throws {ThriceError} What the stores throw; messages whose tasks were not sent stay.
 */
export async function replayMessages(
  order: DlqSelection,
  stores: ReplayStores,
): Promise<DlqReport> {
  const replay: Replay = { stores, groups: new Map(), sent: new Map() };
  return await processEntries(order, (entries) => replayPage(entries, replay));
}

/**
 * Removes DLQ messages.
 *
 * @throws {ThriceError} What the scan throws.
 */
export async function dropMessages(order: DlqSelection): Promise<DlqReport> {
  return await processEntries(order, async (entries) =>
    entries.map((entry) => ({ entry, outcome: { kind: 'dropped' } })),
  );
}

/** Goes through all messages, page by page; those that are not kept are removed. */
async function processEntries(
  { scan, filter, stop }: DlqSelection,
  settle: (entries: readonly DlqEntry[]) => Promise<readonly ProcessedEntry[]>,
): Promise<DlqReport> {
  const all: ProcessedEntry[] = [];
  let seen = 0;
  for await (const page of scan.pages(stop)) {
    const processed = await settle(page.filter((entry) => matchesFilter(entry, filter)));
    const removed = processed.filter(({ outcome }) => outcome.kind !== 'kept');
    await scan.remove(removed.map(({ entry }) => entry));
    seen += page.length;
    all.push(...processed);
  }
  return { ...count(all, seen), unseen: scan.unseenCount, isInterrupted: stop.aborted };
}

function count(
  processed: readonly ProcessedEntry[],
  seen: number,
): Pick<DlqReport, 'messages' | 'cells' | 'problems'> {
  const of = (kind: EntryOutcome['kind']) =>
    processed.filter(({ outcome }) => outcome.kind === kind);
  const [replayed, stale, dropped] = [of('replayed'), of('stale'), of('dropped')];
  const kept = Map.groupBy(processed, ({ outcome }) =>
    outcome.kind === 'kept' ? outcome.problem : '',
  );
  kept.delete('');
  return {
    messages: {
      seen,
      matched: processed.length,
      replayed: replayed.length,
      stale: stale.length,
      dropped: dropped.length,
      unreadable: processed.filter(({ entry }) => !isCellDlqEntry(entry)).length,
      kept: seen - replayed.length - stale.length - dropped.length,
    },
    cells: { matched: countCells(processed), replayed: countCells(replayed) },
    problems: [...kept].map(([problem, { length }]) => ({ problem, messages: length })),
  };
}

function countCells(processed: readonly ProcessedEntry[]): number {
  const entries = processed.map(({ entry }) => entry).filter(isCellDlqEntry);
  return new Set(entries.map(cellNameOf)).size;
}

/** What a replay remembers from page to page. */
interface Replay {
  readonly stores: ReplayStores;
  /** Groups asked for, undefined if there is none of that name. */
  readonly groups: Map<string, ReplayedGroup | undefined>;
  /** The generation each cell was sent in. */
  readonly sent: Map<string, number>;
}

interface ReplayedGroup {
  readonly record: GroupRecord;
  isActive: boolean;
}

/** Sends what is to be sent of a page. */
async function replayPage(
  entries: readonly DlqEntry[],
  replay: Replay,
): Promise<readonly ProcessedEntry[]> {
  const { stores, sent } = replay;
  const cells = await readCellsOf(entries.filter(isCellDlqEntry), stores.ledger);
  const processed: ProcessedEntry[] = [];
  const byLane = new Map<string, Map<string, CellTask>>();
  for (const entry of entries) {
    const step = await decide(entry, cells, replay);
    processed.push({ entry, outcome: step.outcome });
    if (step.send === undefined) continue;
    const { lane, task, group, name } = step.send;
    await wake(group, stores);
    const tasks = byLane.get(lane) ?? new Map<string, CellTask>();
    byLane.set(lane, tasks.set(name, task));
    sent.set(name, task.generation);
  }
  for (const [lane, tasks] of byLane) await stores.queue.send(lane, [...tasks.values()]);
  return processed;
}

interface Step {
  readonly outcome: EntryOutcome;
  readonly send?: {
    readonly lane: string;
    readonly task: CellTask;
    readonly group: ReplayedGroup;
    /** The cell's. */
    readonly name: string;
  };
}

async function decide(
  entry: DlqEntry,
  cells: ReadonlyMap<string, CellRecord>,
  replay: Replay,
): Promise<Step> {
  if (!isCellDlqEntry(entry)) return keep('it is unreadable: there is no task to send');
  const name = cellNameOf(entry);
  const sentGeneration = replay.sent.get(name);
  // Another message of the failure that was replayed.
  if (entry.kind === 'message' && sentGeneration === entry.task.generation + 1) {
    return { outcome: { kind: 'replayed' } };
  }
  const cell = cells.get(name);
  if (isStale(entry, cell)) return { outcome: { kind: 'stale' } };
  const generation = nextGeneration(entry, cell);
  if (sentGeneration !== undefined && generation > sentGeneration) {
    return keep('its cell has failed again since it was replayed');
  }
  const group = await findGroup(entry, replay);
  if (typeof group === 'string') return keep(group);
  const lane = laneOfEntry(entry, group.record);
  if (!replay.stores.lanes.has(lane)) return keep(`lane "${lane}" has no queue`);
  const task = { ...entry.task, generation };
  return { outcome: { kind: 'replayed' }, send: { lane, task, group, name } };
}

function keep(problem: string): Step {
  return { outcome: { kind: 'kept', problem } };
}

/** Whether the cell has a score, or is in a later generation than the entry knows. */
function isStale({ task }: CellDlqEntry, cell: CellRecord | undefined): boolean {
  if (cell === undefined) return false;
  const isGraded = cell.result !== undefined && hasScore(cell.result.outcome);
  return isGraded || cell.generation > task.generation;
}

/**
 * The generation an entry's cell goes on in: the next one of a failed cell, for a task of the same one
 * would find it done. A stray task whose cell has no result goes as it is.
 */
function nextGeneration({ kind, task }: CellDlqEntry, cell: CellRecord | undefined): number {
  const isOver = kind === 'message' || cell?.result !== undefined;
  return isOver ? task.generation + 1 : task.generation;
}

/** The group of an entry's cell, or why the cell is none of its. */
async function findGroup(
  { task: { run, config } }: CellDlqEntry,
  { groups, stores }: Replay,
): Promise<ReplayedGroup | string> {
  const name = groupOfRun(run);
  if (!groups.has(name)) {
    const record = await stores.ledger.readGroup(name);
    groups.set(name, record && { record, isActive: false });
  }
  const group = groups.get(name);
  if (group === undefined) return `group "${name}" is not in the ledger`;
  // Making it active would set all of it to work, not only what is replayed.
  if (group.record.state === 'cancelled') return `group "${name}" is cancelled; resume it first`;
  const { runs, spec } = group.record.header;
  if (!runs.includes(run)) return `group "${name}" has no run "${run}"`;
  if (spec.configs.some((own) => own.name === config)) return group;
  return `group "${name}" has no config "${config}"`;
}

/** Where the task came from; where that is unknown, the lane of its config. */
function laneOfEntry({ lane, task }: CellDlqEntry, { header }: GroupRecord): string {
  const config = header.spec.configs.find(({ name }) => name === task.config);
  return lane ?? laneOf(config?.model ?? '');
}

/** Has a group watched, so that the reconciler sees to its results. */
async function wake(group: ReplayedGroup, { activeGroups }: ReplayStores): Promise<void> {
  if (group.isActive) return;
  const { header } = group.record;
  await activeGroups.add(header.group);
  group.isActive = true;
}
