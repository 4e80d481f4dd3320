import type { Terminal } from '../shell/terminal.ts';

/**
 * The last line of a command whose work the user can continue: `next: thrice resume GROUP`.
 *
 * @param width - Characters of a line; a command that does not fit has a line of its own. @default no limit
 */
export function describeNext(command: string, width = Number.POSITIVE_INFINITY): string {
  const line = `next: ${command}`;
  return line.length <= width ? line : `next:\n  ${command}`;
}

/** Prints the next command to stderr. */
export function reportNext(command: string, terminal: Terminal): void {
  const width = terminal.isInteractive ? terminal.columns : undefined;
  terminal.error(describeNext(command, width));
}
