import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';

/** A row of `thrice.db`. */
type Row = Record<string, SQLOutputValue>;

/**
 * Looks into the ledger of a folder from outside, whatever its processes are doing.
 *
 * @param folder - What `--dir` names.
 * @returns No rows while there is no ledger yet.
 */
function readLedger(folder: string, sql: string): readonly Row[] {
  const file = join(folder, 'thrice.db');
  if (!existsSync(file)) return [];
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    return database.prepare(sql).all();
  } catch (error) {
    // Between the creation of the file and that of its tables.
    if (error instanceof Error && /no such table|unable to open/.test(error.message)) return [];
    throw error;
  }
}

/** The cells whose answer is committed, as the cell key header of their request names them. */
export function committedKeys(folder: string): ReadonlySet<string> {
  const rows = readLedger(folder, 'SELECT run, config, id, step FROM calls');
  return new Set(
    rows.map((row) =>
      ['run', 'config', 'id', 'step']
        .map((part) => encodeURIComponent(String(row[part])))
        .join('/'),
    ),
  );
}

/** Whether all tasks of each group have been sent, in the order the groups were planned. */
export function arePlanned(folder: string): readonly boolean[] {
  return readLedger(folder, 'SELECT is_planned FROM groups ORDER BY rowid').map(
    (row) => row['is_planned'] === 1,
  );
}

/** What is closed now: lanes, or models as `lane/model`. */
export function openBreakerKeys(folder: string): readonly string[] {
  return readLedger(folder, 'SELECT breaker_key FROM open_breakers ORDER BY breaker_key').map(
    (row) => String(row['breakerKey']),
  );
}

/** Tasks that are left, of all groups. */
export function taskCount(folder: string): number {
  return Number(readLedger(folder, 'SELECT count(*) AS count FROM tasks')[0]?.['count'] ?? 0);
}
