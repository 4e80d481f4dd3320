import type { GroupHeader, Summary } from '@thrice/core';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';

/** Says which cells have no score and how to run them again; the exit code of a finished group. */
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
    /** Where the results are. */
    readonly place: string;
    /** What a proposed command needs to find the group. */
    readonly flag: string;
  },
): ExitCode {
  const without = summary.configs.flatMap(({ config, replicates }) =>
    replicates.flatMap(({ run, ungraded, failed, notAttempted }) => {
      const count = ungraded + failed + notAttempted;
      return count === 0 ? [] : [{ config, run, count, failed }];
    }),
  );
  if (without.length === 0) return exitCodes.complete;
  for (const { config, run, count } of without) {
    const file = `${place}/runs/${group}/${run}/failures_${config}.json`;
    terminal.error(`${count} cells of ${config} without a score: ${file}`);
  }
  if (without.some(({ failed }) => failed > 0)) {
    terminal.error(`run them again with: thrice rerun ${group} --failed${flag}`);
  }
  return exitCodes.withoutScore;
}
