import type { CellKey, CellRecord } from '../domain/cell.ts';
import type { CellDlqEntry, DlqEntry } from '../domain/dlq-entry.ts';
import { limits } from '../limits.ts';
import type { Ledger } from '../ports/ledger.ts';

/** Whether an entry is some cell's. */
export function isCellDlqEntry(entry: DlqEntry): entry is CellDlqEntry {
  return entry.kind !== 'unreadable';
}

/** The cell of an entry as one text, for maps. */
export function cellNameOf({ task: { run, config, id } }: CellDlqEntry): string {
  return nameOf({ run, config, id });
}

/** The cells of some entries as the ledger knows them, by {@link cellNameOf}. */
export async function readCellsOf(
  entries: readonly CellDlqEntry[],
  ledger: Ledger,
): Promise<ReadonlyMap<string, CellRecord>> {
  const found = new Map<string, CellRecord>();
  const parts = Map.groupBy(entries, ({ task: { run, config } }) => JSON.stringify([run, config]));
  for (const part of parts.values()) {
    const [{ run, config } = { run: '', config: '' }] = part.map(({ task }) => task);
    const ids = [...new Set(part.map(({ task }) => task.id))];
    for (let start = 0; start < ids.length; start += limits.pageSize) {
      const page = ids.slice(start, start + limits.pageSize);
      const cells = await ledger.readCells(run, config, page);
      for (const cell of cells.values()) found.set(nameOf(cell.key), cell);
    }
  }
  return found;
}

function nameOf({ run, config, id }: CellKey): string {
  return JSON.stringify([run, config, id]);
}
