import type { CellKey, CellRecord } from '../domain/cell.ts';
import type { CellDlqEntry, DlqEntry, UnreadableDlqEntry } from '../domain/dlq-entry.ts';
import type { Ledger } from '../ports/ledger.ts';
import { cellNameOf, isCellDlqEntry, readCellsOf } from './cells.ts';
import { type DlqSelection, matchesFilter } from './filter.ts';

/**
 * Where the cell of a DLQ message stands by now.
 *
 * What it ended as; `failed-again` and `running-again` in a later generation than its messages know of;
 * `unfinished` or `not-attempted` where its task was given up.
 */
export type DlqCellState =
  | 'scored'
  | 'unparsed'
  | 'ungraded'
  | 'failed'
  | 'failed-again'
  | 'running-again'
  | 'unfinished'
  | 'not-attempted';

/** A cell with its DLQ messages. */
export interface DlqCell {
  readonly key: CellKey;
  /** The latest message: of the last generation, of several of that the one sent last. */
  readonly latest: CellDlqEntry;
  /** All of them, the latest first. */
  readonly entries: readonly CellDlqEntry[];
  readonly now: DlqCellState;
}

/** The DLQ messages that were asked for. */
export interface DlqList {
  /** Ordered by run, config and id, numbers by their value. */
  readonly cells: readonly DlqCell[];
  /** In the order they were sent. */
  readonly unreadable: readonly UnreadableDlqEntry[];
  /** Messages that were looked at. */
  readonly seen: number;
  /** Messages that were in other hands; see `DlqScan`. */
  readonly unseen: number;
  /** It was stopped before it had seen everything. */
  readonly isInterrupted: boolean;
}

/** Looks through the DLQ and changes nothing. */
export async function listMessages(
  { scan, filter, stop }: DlqSelection,
  ledger: Ledger,
): Promise<DlqList> {
  const matching: DlqEntry[] = [];
  let seen = 0;
  for await (const page of scan.pages(stop)) {
    seen += page.length;
    matching.push(...page.filter((entry) => matchesFilter(entry, filter)));
  }
  const entries = matching.filter(isCellDlqEntry);
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
  own: readonly CellDlqEntry[],
  record: CellRecord | undefined,
): readonly DlqCell[] {
  const entries = own.toSorted(
    (left, right) => right.task.generation - left.task.generation || compareSent(right, left),
  );
  const [latest] = entries;
  if (latest === undefined) return [];
  const { run, config, id } = latest.task;
  return [{ key: { run, config, id }, latest, entries, now: standOf(latest, record) }];
}

function standOf({ task }: CellDlqEntry, cell: CellRecord | undefined): DlqCellState {
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
function compareSent(left: DlqEntry, right: DlqEntry): number {
  return compareTexts(left.sentAt ?? '', right.sentAt ?? '');
}
