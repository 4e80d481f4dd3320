/**
 * Describes on one line why `JSON.parse` rejected a text: the position, then the parser's reason.
 *
 * A text of one line gives `column 8: Unexpected token 'x'`, a longer one `line 3, column 8: ...`.
 *
 * @param isQuestion - Whether the text is a line of a file that has a question on each.
 */
export function describeJsonError(thrown: unknown, text: string, isQuestion = false): string {
  const message = messageOf(thrown);
  const reason = message
    .replace(/(?: in JSON)? at position.*$/s, '')
    .replace(/^(Unexpected token .+?), "?\.{0,3}".*$/s, '$1')
    .replace(/^Unexpected token '?\s'?$/, 'Unexpected line end');
  const offset = findOffset(message, text);
  const lines = text.slice(0, offset).split('\n');
  const column = `column ${(lines.at(-1) ?? '').length + 1}`;
  const isOneLine = !text.trimEnd().includes('\n');
  const place = isOneLine ? column : `line ${lines.length}, ${column}`;
  const mistake = { text, before: text.slice(0, offset), rest: text.slice(offset), reason };
  const habits = isQuestion ? [...HABITS, ...QUESTION_HABITS] : HABITS;
  const habit = habits.find(([isMet]) => isMet(mistake))?.[1];
  return `${place}: ${reason}${habit === undefined ? '' : `; ${habit}`}`;
}

/** A text that is no JSON, what stands before and after its first error, and the parser's reason. */
interface Mistake {
  readonly text: string;
  readonly before: string;
  readonly rest: string;
  readonly reason: string;
}

type Habit = readonly [isMet: (mistake: Mistake) => boolean, remedy: string];

/** What a text seems to be instead. */
const HABITS: readonly Habit[] = [
  [({ rest }) => /^(NaN|-?Infinity)/.test(rest), 'JSON has no such number: write null'],
  [
    ({ text, rest }) => /^(None|True|False)\b/.test(rest) || text.startsWith("{'"),
    'this is how Python prints it: write it with json.dumps',
  ],
  [({ text }) => /^\s*(?:#|\/\/)/.test(text), 'JSON has no comments: leave the line out'],
  [
    ({ before, rest }) => /,\s*$/.test(before) && /^[}\]]/.test(rest),
    'no comma stands after the last entry',
  ],
  [
    ({ rest, reason }) => reason.startsWith("Expected ','") && /^[{["]/.test(rest),
    'a comma stands between two entries',
  ],
  [({ text }) => /^\s*\{\s*[A-Za-z_]/.test(text), 'names stand between double quotation marks'],
];

/** What a line of a file of questions may be besides. */
const QUESTION_HABITS: readonly Habit[] = [
  [
    ({ reason }) => reason.startsWith('Unterminated'),
    'a line break within a text is written as \\n',
  ],
  [({ rest }) => /^\s*,\s*$/.test(rest), 'no comma stands at the end of a line'],
  [({ rest }) => /^\s*\{/.test(rest), 'write one object a line'],
  [
    ({ text }) => text.trim() === '{' || text.trim() === '[{',
    'a line has a whole question, or the file is one JSON array',
  ],
  [({ text }) => isTable(text) && text.includes('\t'), 'this is a line with tabs, as of TSV'],
  [({ text }) => isTable(text) && text.includes(','), 'this is a line with commas, as of CSV'],
];

function isTable(text: string): boolean {
  return !/^[[{"]/.test(text.trimStart());
}

/** The parser gives no position for two errors: a text that ends too soon, and a bad token. */
function findOffset(message: string, text: string): number {
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  if (position !== undefined) return Number(position);
  return message.startsWith('Unexpected token') ? findBadToken(text) : text.trimEnd().length;
}

/** Bisects for the shortest prefix of the text that contains the bad token. */
function findBadToken(text: string): number {
  let tooShort = 0;
  let longEnough = text.length;
  while (longEnough - tooShort > 1) {
    const middle = Math.floor((tooShort + longEnough) / 2);
    if (hasBadToken(text.slice(0, middle))) longEnough = middle;
    else tooShort = middle;
  }
  return tooShort;
}

function hasBadToken(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return false;
  } catch (error) {
    return messageOf(error).startsWith('Unexpected token');
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
