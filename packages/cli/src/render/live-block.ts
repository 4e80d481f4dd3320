import { wrapLine } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { reportLine } from './report-line.ts';

const CLEAR_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[0J';

/**
 * A block of lines on stderr, redrawn in place on a terminal and printed as plain lines elsewhere.
 *
 * The cursor stays visible: a process that is killed could not show it again.
 */
export class LiveBlock {
  readonly #terminal: Terminal;
  #lines: readonly string[] = [];
  #drawnColumns = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Replaces the block. */
  show(block: string): void {
    if (!this.#terminal.isInteractive) {
      this.#terminal.error(block);
      return;
    }
    const lines = this.#fit(block.split('\n'));
    // Redraws line by line, because some terminals save a block cleared as a whole in their scrollback.
    // After a resize the block is cleared as a whole anyway, or wrapped lines would remain joined.
    const { columns } = this.#terminal;
    const isResized = this.#lines.length > 0 && columns !== this.#drawnColumns;
    this.#drawnColumns = columns;
    const top = `${this.#backToTop()}${isResized ? CLEAR_BELOW : ''}`;
    const text = lines.map((line) => `${this.#terminal.paint(line)}${CLEAR_LINE_END}\n`).join('');
    this.#terminal.draw(`${top}${text}${CLEAR_BELOW}`);
    this.#lines = lines;
  }

  /** Prints a permanent line above the block. */
  note(text: string): void {
    if (this.#terminal.isInteractive) this.#terminal.draw(`${this.#backToTop()}${CLEAR_BELOW}`);
    this.#lines = [];
    reportLine(text, this.#terminal);
  }

  /** Leaves the last block on the screen. */
  end(): void {
    this.#lines = [];
  }

  /** Removes the block from a terminal, for what replaces it. */
  erase(): void {
    if (this.#terminal.isInteractive) this.#terminal.draw(`${this.#backToTop()}${CLEAR_BELOW}`);
    this.end();
  }

  /** Wraps lines, and cuts lines and block to the window: a wrapped line or a scrolled block could not be redrawn. */
  #fit(block: readonly string[]): readonly string[] {
    const { columns, rows } = this.#terminal;
    const lines = block.flatMap((line) => wrapLine(line, columns - 1).split('\n'));
    const room = Math.max(3, rows - 1);
    const shown =
      lines.length <= room
        ? lines
        : [
            ...lines.slice(0, room - 2),
            `(${lines.length - room + 1} more lines)`,
            ...lines.slice(-1),
          ];
    return shown.map((line) => line.slice(0, Math.max(1, columns - 1)));
  }

  #backToTop(): string {
    const { columns } = this.#terminal;
    // A window that has become narrower has wrapped the lines drawn before.
    const height = this.#lines.reduce(
      (sum, { length }) => sum + Math.max(1, Math.ceil(length / columns)),
      0,
    );
    const up = height === 0 ? '' : `\u001b[${height}A`;
    return `\r${up}`;
  }
}
