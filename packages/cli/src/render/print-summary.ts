import { renderSummary, type Summary } from '@thrice/core';
import { plainText, type Terminal } from '../shell/terminal.ts';

/**
 * Prints the table of a summary, folded to the width of the terminal.
 *
 * @param view.isNamed - Whether the name of the group has been printed. @default false
 */
export function printSummary(
  summary: Summary,
  terminal: Terminal,
  { isNamed = false }: { readonly isNamed?: boolean } = {},
): void {
  const text = renderSummary(summary, 'text', { width: terminal.printColumns, isNamed });
  terminal.print(plainText(text.trimEnd()));
}
