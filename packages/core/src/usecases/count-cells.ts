import type { GroupHeader } from '../domain/group.ts';
import type { Tally } from '../ports/ledger.ts';

/**
 * Whether the tallies of all runs of a group count a result for every planned cell.
 *
 * A hint, as tallies are: it asks for finalization, which counts the records.
 */
export function isCounted(header: GroupHeader, tallies: readonly Tally[]): boolean {
  const planned = header.configs.reduce((sum, { cells }) => sum + cells, 0) * header.runs.length;
  const done = tallies.flatMap(({ counts }) => Object.values(counts));
  return done.reduce((sum, count) => sum + count, 0) >= planned;
}
