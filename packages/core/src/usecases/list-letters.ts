import type { CellKey, CellRecord } from '../domain/cell.ts';
import type { CellEntry, DeadLetterEntry, UnreadableEntry } from '../domain/dead-letter-entry.ts';
import type { Ledger } from '../ports/ledger.ts';
import { type LetterOrder, matchesFilter } from './choose-letters.ts';
import { cellNameOf, isCellEntry, readCellsOf } from './letter-cells.ts';

/**
 * Where the cell of a dead letter stands by now.
 *
 * What it ended as; `failed-again` and `running-again` in a later generation than its letters know of;
 * `unfinished` or `not-attempted` where its task was given up.
 */
export type CellNow =
  | 'scored'
  | 'unparsed'
  | 'ungraded'
  | 'failed'
  | 'failed-again'
  | 'running-again'
  | 'unfinished'
  | 'not-attempted';

/** A cell with its dead letters. */
export interface DeadCell {
  readonly key: CellKey;
  /** The latest letter: of the last generation, of several of that the one sent last. */
  readonly latest: CellEntry;
  /** All of them, the latest first. */
  readonly entries: readonly CellEntry[];
  readonly now: CellNow;
}

/** The dead letters that were asked for. */
export interface LetterList {
  /** Ordered by run, config and id, numbers by their value. */
  readonly cells: readonly DeadCell[];
  /** In the order they were sent. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Letters that were looked at. */
  readonly seen: number;
  /** Letters that were in other hands; see `DeadLetterScan`. */
  readonly unseen: number;
  /** It was stopped before it had seen everything. */
  readonly isInterrupted: boolean;
}

/** Looks through the dead letters and changes nothing. */
export async function listLetters(
  { scan, filter, stop }: LetterOrder,
  ledger: Ledger,
): Promise<LetterList> {
  const matching: DeadLetterEntry[] = [];
  let seen = 0;
  for await (const page of scan.pages(stop)) {
    seen += page.length;
    matching.push(...page.filter((entry) => matchesFilter(entry, filter)));
  }
  const entries = matching.filter(isCellEntry);
  const records = await readCellsOf(entries, ledger);
  const cells = [...Map.groupBy(entries, cellNameOf)].flatMap(([name, own]) =>
    describeCell(own, records.get(name)),
  );
  return {
    cells: cells.toSorted((left, right) => compareKeys(left.key, right.key)),
    unreadable: matching.filter((entry) => entry.kind === 'unreadable').toSorted(compareSent),
    seen,
    unseen: scan.unseenCount,
    isInterrupted: stop.aborted,
  };
}

function describeCell(
  own: readonly CellEntry[],
  record: CellRecord | undefined,
): readonly DeadCell[] {
  const entries = own.toSorted(
    (left, right) => right.task.generation - left.task.generation || compareSent(right, left),
  );
  const [latest] = entries;
  if (latest === undefined) return [];
  const { run, config, id } = latest.task;
  return [{ key: { run, config, id }, latest, entries, now: standOf(latest, record) }];
}

function standOf({ task }: CellEntry, cell: CellRecord | undefined): CellNow {
  if (cell === undefined) return 'not-attempted';
  const isLater = cell.generation > task.generation;
  if (cell.result === undefined) return isLater ? 'running-again' : 'unfinished';
  const { outcome } = cell.result;
  return isLater && outcome === 'failed' ? 'failed-again' : outcome;
}

function compareKeys(left: CellKey, right: CellKey): number {
  return (
    compareTexts(left.run, right.run) ||
    compareTexts(left.config, right.config) ||
    compareTexts(left.id, right.id)
  );
}

/** `q2` before `q10`; two texts are equal only if they are the same. */
function compareTexts(left: string, right: string): number {
  const order = left.localeCompare(right, 'en', { numeric: true });
  if (order !== 0 || left === right) return order;
  return left < right ? -1 : 1;
}

/** By time sent, the earlier first. */
function compareSent(left: DeadLetterEntry, right: DeadLetterEntry): number {
  return compareTexts(left.sentAt ?? '', right.sentAt ?? '');
}
