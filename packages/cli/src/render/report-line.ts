import { wrapLine } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** Prints a line to stderr, which a terminal shows without breaking a word. */
export function reportLine(
  text: string,
  terminal: Pick<Terminal, 'error' | 'isInteractive' | 'columns'>,
): void {
  terminal.error(terminal.isInteractive ? wrapLine(text, terminal.columns) : text);
}
