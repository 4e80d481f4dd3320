import { wrapLine } from '@thrice/core';
import { nameCommands } from '../shell/command-name.ts';
import type { Terminal } from '../shell/terminal.ts';

/** Prints a line to stderr, which a terminal shows without breaking a word. */
export function reportLine(
  text: string,
  terminal: Pick<Terminal, 'error' | 'isInteractive' | 'columns' | 'commandName'>,
): void {
  const named = nameCommands(text, terminal.commandName);
  terminal.error(terminal.isInteractive ? wrapLine(named, terminal.columns) : named);
}

/** Asks a question, which a terminal shows without breaking a word, and with room for a short answer. */
export async function askLine(
  question: string,
  { ask, isInteractive, columns }: Pick<Terminal, 'ask' | 'isInteractive' | 'columns'>,
): Promise<string | undefined> {
  return await ask(`${isInteractive ? wrapLine(question, columns - ANSWER_COLUMNS) : question} `);
}

/** Of a space and `yes`. */
const ANSWER_COLUMNS = 4;
