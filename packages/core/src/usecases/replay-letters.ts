import { type CellRecord, isVerdict } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import { laneOf } from '../domain/closure.ts';
import type { CellEntry, DeadLetterEntry } from '../domain/dead-letter-entry.ts';
import { groupOfRun } from '../domain/group.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import type { Watchlist } from '../ports/watchlist.ts';
import { type LetterOrder, matchesFilter } from './choose-letters.ts';
import { cellNameOf, isCellEntry, readCellsOf } from './letter-cells.ts';

/** What a replay works with. */
export interface ReplayStores {
  readonly ledger: Ledger;
  readonly queue: Pick<TaskQueue, 'send'>;
  readonly watchlist: Pick<Watchlist, 'watch'>;
  /** The lanes that have a queue. */
  readonly lanes: ReadonlySet<string>;
}

/** What a replay or a drop did. A cell may have several letters. */
export interface LetterReport {
  readonly letters: {
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
  /** Why matching letters stay, and how many for each reason. */
  readonly problems: readonly { readonly problem: string; readonly letters: number }[];
  /** Letters that were in other hands; see `DeadLetterScan`. */
  readonly unseen: number;
  /** It was stopped before it had seen everything. */
  readonly isInterrupted: boolean;
}

/** What becomes of a letter that is meant. */
type Fate =
  | { readonly kind: 'replayed' | 'stale' | 'dropped' }
  | { readonly kind: 'kept'; readonly problem: string };

interface Settled {
  readonly entry: DeadLetterEntry;
  readonly fate: Fate;
}

/**
 * Sends the cells of dead letters to their lanes once more and removes the letters.
 *
 * State first: the group is active and watched before a task is sent, a task is sent before its letter is
 * removed. Whoever is killed in between leaves a letter that is replayed again, which has the effect of
 * one: a task's generation follows from its letter and the ledger alone.
 *
 * A cell is sent once: when it fails again before the end, the letter of that stays.
 *
 * @throws {ThriceError} What the stores throw; letters whose tasks were not sent stay.
 */
export async function replayLetters(
  order: LetterOrder,
  stores: ReplayStores,
): Promise<LetterReport> {
  const replay: Replay = { stores, groups: new Map(), sent: new Map() };
  return await settleLetters(order, (entries) => replayPage(entries, replay));
}

/**
 * Removes dead letters.
 *
 * @throws {ThriceError} What the scan throws.
 */
export async function dropLetters(order: LetterOrder): Promise<LetterReport> {
  return await settleLetters(order, async (entries) =>
    entries.map((entry) => ({ entry, fate: { kind: 'dropped' } })),
  );
}

/** Goes through all letters, page by page; those that are not kept are removed. */
async function settleLetters(
  { scan, filter, stop }: LetterOrder,
  settle: (entries: readonly DeadLetterEntry[]) => Promise<readonly Settled[]>,
): Promise<LetterReport> {
  const all: Settled[] = [];
  let seen = 0;
  for await (const page of scan.pages(stop)) {
    const settled = await settle(page.filter((entry) => matchesFilter(entry, filter)));
    const removed = settled.filter(({ fate }) => fate.kind !== 'kept');
    await scan.remove(removed.map(({ entry }) => entry));
    seen += page.length;
    all.push(...settled);
  }
  return { ...count(all, seen), unseen: scan.unseenCount, isInterrupted: stop.aborted };
}

function count(
  settled: readonly Settled[],
  seen: number,
): Pick<LetterReport, 'letters' | 'cells' | 'problems'> {
  const of = (kind: Fate['kind']) => settled.filter(({ fate }) => fate.kind === kind);
  const [replayed, stale, dropped] = [of('replayed'), of('stale'), of('dropped')];
  const kept = Map.groupBy(settled, ({ fate }) => (fate.kind === 'kept' ? fate.problem : ''));
  kept.delete('');
  return {
    letters: {
      seen,
      matched: settled.length,
      replayed: replayed.length,
      stale: stale.length,
      dropped: dropped.length,
      unreadable: settled.filter(({ entry }) => !isCellEntry(entry)).length,
      kept: seen - replayed.length - stale.length - dropped.length,
    },
    cells: { matched: countCells(settled), replayed: countCells(replayed) },
    problems: [...kept].map(([problem, { length }]) => ({ problem, letters: length })),
  };
}

function countCells(settled: readonly Settled[]): number {
  const entries = settled.map(({ entry }) => entry).filter(isCellEntry);
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
  isAwake: boolean;
}

/** Sends what is to be sent of a page. */
async function replayPage(
  entries: readonly DeadLetterEntry[],
  replay: Replay,
): Promise<readonly Settled[]> {
  const { stores, sent } = replay;
  const cells = await readCellsOf(entries.filter(isCellEntry), stores.ledger);
  const settled: Settled[] = [];
  const byLane = new Map<string, Map<string, CellTask>>();
  for (const entry of entries) {
    const step = await decide(entry, cells, replay);
    settled.push({ entry, fate: step.fate });
    if (step.send === undefined) continue;
    const { lane, task, group, name } = step.send;
    await wake(group, stores);
    const tasks = byLane.get(lane) ?? new Map<string, CellTask>();
    byLane.set(lane, tasks.set(name, task));
    sent.set(name, task.generation);
  }
  for (const [lane, tasks] of byLane) await stores.queue.send(lane, [...tasks.values()]);
  return settled;
}

interface Step {
  readonly fate: Fate;
  readonly send?: {
    readonly lane: string;
    readonly task: CellTask;
    readonly group: ReplayedGroup;
    /** The cell's. */
    readonly name: string;
  };
}

async function decide(
  entry: DeadLetterEntry,
  cells: ReadonlyMap<string, CellRecord>,
  replay: Replay,
): Promise<Step> {
  if (!isCellEntry(entry)) return keep('it is unreadable: there is no task to send');
  const name = cellNameOf(entry);
  const sentGeneration = replay.sent.get(name);
  // Another letter of the failure that was replayed.
  if (entry.kind === 'letter' && sentGeneration === entry.task.generation + 1) {
    return { fate: { kind: 'replayed' } };
  }
  const cell = cells.get(name);
  if (isStale(entry, cell)) return { fate: { kind: 'stale' } };
  const generation = nextGeneration(entry, cell);
  if (sentGeneration !== undefined && generation > sentGeneration) {
    return keep('its cell has failed again since it was replayed');
  }
  const group = await findGroup(entry, replay);
  if (typeof group === 'string') return keep(group);
  const lane = laneOfEntry(entry, group.record);
  if (!replay.stores.lanes.has(lane)) return keep(`lane "${lane}" has no queue`);
  const task = { ...entry.task, generation };
  return { fate: { kind: 'replayed' }, send: { lane, task, group, name } };
}

function keep(problem: string): Step {
  return { fate: { kind: 'kept', problem } };
}

/** Whether the cell has a verdict, or is in a later generation than the entry knows. */
function isStale({ task }: CellEntry, cell: CellRecord | undefined): boolean {
  if (cell === undefined) return false;
  const hasVerdict = cell.result !== undefined && isVerdict(cell.result.outcome);
  return hasVerdict || cell.generation > task.generation;
}

/**
 * The generation an entry's cell goes on in: the next one of a failed cell, for a task of the same one
 * would find it done. A stray task whose cell has no result goes as it is.
 */
function nextGeneration({ kind, task }: CellEntry, cell: CellRecord | undefined): number {
  const isOver = kind === 'letter' || cell?.result !== undefined;
  return isOver ? task.generation + 1 : task.generation;
}

/** The group of an entry's cell, or why the cell is none of its. */
async function findGroup(
  { task: { run, config } }: CellEntry,
  { groups, stores }: Replay,
): Promise<ReplayedGroup | string> {
  const name = groupOfRun(run);
  if (!groups.has(name)) {
    const record = await stores.ledger.readGroup(name);
    groups.set(name, record && { record, isAwake: false });
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
function laneOfEntry({ lane, task }: CellEntry, { header }: GroupRecord): string {
  const config = header.spec.configs.find(({ name }) => name === task.config);
  return lane ?? laneOf(config?.model ?? '');
}

/** Has a group watched, so that the steward sees to its results. */
async function wake(group: ReplayedGroup, { watchlist }: ReplayStores): Promise<void> {
  if (group.isAwake) return;
  const { header } = group.record;
  await watchlist.watch(header.group);
  group.isAwake = true;
}
