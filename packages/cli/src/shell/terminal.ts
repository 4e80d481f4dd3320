/**
 * What a command writes to and reads of its surroundings.
 *
 * Whatever is printed is made harmless by {@link plainText}; what is drawn is not.
 */
export interface Terminal {
  /** One line, or several, of the command's result on stdout. */
  print(text: string): void;
  /** One line, or several, of progress or errors on stderr. */
  error(text: string): void;
  /** Raw text on stderr, for redrawing. */
  draw(text: string): void;
  /** Whether stderr is a terminal that can be redrawn. */
  readonly isInteractive: boolean;
  /** As they are now: a window may be resized. */
  readonly columns: number;
  readonly rows: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingFolder: string;
  readonly commandLine: readonly string[];
}

/** The terminal of a process. */
export function processTerminal(host: NodeJS.Process): Terminal {
  return {
    print: (text) => {
      host.stdout.write(`${plainText(text)}\n`);
    },
    error: (text) => {
      host.stderr.write(`${plainText(text)}\n`);
    },
    draw: (text) => {
      host.stderr.write(text);
    },
    isInteractive: host.stderr.isTTY && host.env['TERM'] !== 'dumb',
    get columns() {
      return host.stderr.columns ?? 80;
    },
    get rows() {
      return host.stderr.rows ?? 24;
    },
    environment: host.env,
    workingFolder: host.cwd(),
    commandLine: host.argv.slice(2),
  };
}

/**
 * A text by a model or a vendor, made harmless for a terminal: control characters other than tab and
 * line end, and those that turn the direction of writing, are shown as `\x1b` or `\u202e`.
 *
 * JSON stays the same document: the characters that it may hold raw become its own escapes.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    if (character === '\n' || character === '\t') return character;
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return character < ' ' ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
}
