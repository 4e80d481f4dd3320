import type { Terminal } from '../terminal.ts';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_BELOW = '\u001b[0J';

/** A block of lines on stderr that is drawn over itself; plain lines where that is impossible. */
export class LiveBlock {
  readonly #terminal: Terminal;
  #lineCount = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Replaces the block. */
  show(text: string): void {
    if (!this.#terminal.isInteractive) {
      this.#terminal.error(text);
      return;
    }
    const lines = text
      .split('\n')
      .map((line) => line.slice(0, Math.max(20, this.#terminal.columns - 1)));
    this.#terminal.draw(`${HIDE_CURSOR}${this.#backToTop()}${lines.join('\n')}\n`);
    this.#lineCount = lines.length;
  }

  /** Writes a line above the block, to stay. */
  note(text: string): void {
    if (this.#terminal.isInteractive) this.#terminal.draw(this.#backToTop());
    this.#lineCount = 0;
    this.#terminal.error(text);
  }

  /** Leaves the block as it is and gives the terminal back. */
  end(): void {
    if (this.#terminal.isInteractive) this.#terminal.draw(SHOW_CURSOR);
    this.#lineCount = 0;
  }

  #backToTop(): string {
    const up = this.#lineCount === 0 ? '' : `\u001b[${this.#lineCount}A`;
    return `\r${up}${CLEAR_BELOW}`;
  }
}
