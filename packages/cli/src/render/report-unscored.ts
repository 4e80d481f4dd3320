import type { GroupHeader, Summary } from '@thrice/core';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { countOf } from './count-of.ts';

/**
 * Prints how many cells have no score, where they are listed, and how to retry them.
 *
 * @returns The exit code of the finished group.
 */
export function reportUnscored(
  summary: Summary,
  {
    terminal,
    header: { group },
    place,
    flag,
  }: {
    readonly terminal: Terminal;
    readonly header: GroupHeader;
    /** Where the results are, as shown to users. */
    readonly place: string;
    /** Flag that a suggested command needs to find the group. */
    readonly flag: string;
  },
): ExitCode {
  const unscored = summary.configs.flatMap(({ config, replicates }) =>
    replicates.flatMap(({ run, ungraded, failed, notAttempted }) => {
      const count = ungraded + failed + notAttempted;
      return count === 0 ? [] : [{ config, run, count, failed }];
    }),
  );
  if (unscored.length === 0) return exitCodes.complete;
  for (const { config, run, count } of unscored) {
    const file = `${place}/runs/${group}/${run}/failures_${config}.json`;
    terminal.error(`${countOf(count, 'cell')} of ${config} without a score: ${file}`);
  }
  if (unscored.some(({ failed }) => failed > 0)) {
    terminal.error(`retry them with: thrice rerun ${group} --failed${flag}`);
  }
  return exitCodes.withoutScore;
}
