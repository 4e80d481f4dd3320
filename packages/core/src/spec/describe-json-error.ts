/**
 * Describes on one line why `JSON.parse` rejected a text: the position, then the parser's reason.
 *
 * A text of one line gives `column 8: Unexpected token 'x'`, a longer one `line 3, column 8: ...`.
 */
export function describeJsonError(thrown: unknown, text: string): string {
  const message = messageOf(thrown);
  const reason = message
    .replace(/(?: in JSON)? at position.*$/s, '')
    .replace(/^(Unexpected token .+?), "?\.{0,3}".*$/s, '$1')
    .replace(/^Unexpected token '?\s'?$/, 'Unexpected line end');
  const offset = findOffset(message, text);
  const before = text.slice(0, offset).split('\n');
  const column = `column ${(before.at(-1) ?? '').length + 1}`;
  const isOneLine = !text.trimEnd().includes('\n');
  const place = isOneLine ? column : `line ${before.length}, ${column}`;
  return `${place}: ${reason}${describeHabit(text, offset, reason)}`;
}

/** What the text seems to be instead, from how it goes on at its first error. */
function describeHabit(text: string, offset: number, reason: string): string {
  const rest = text.slice(offset, offset + 20);
  if (/^(NaN|-?Infinity)/.test(rest)) return '; JSON has no such number: write null';
  if (/^(None|True|False)\b/.test(rest) || text.startsWith("{'"))
    return '; this is how Python prints it: write it with json.dumps';
  if (/^\s*(?:#|\/\/)/.test(text)) return '; JSON has no comments: leave the line out';
  if (/Unterminated/.test(reason)) return '; a line break within a text is written as \\n';
  if (/^\s*,\s*$/.test(text.slice(offset))) return '; no comma stands after the last bracket';
  if (/,\s*$/.test(text.slice(0, offset)) && /^[}\]]/.test(rest))
    return '; no comma stands before a closing bracket';
  if (/^\s*\{/.test(rest)) return '; write one object a line';
  if (/^\s*\{\s*[A-Za-z_]/.test(text)) return '; names stand between double quotation marks';
  if (text.trim() === '{' || text.trim() === '[{')
    return '; a line has a whole question, or the file is one JSON array';
  const isTable = !/^[[{"]/.test(text.trimStart()) && !text.includes('\n');
  if (isTable && text.includes('\t')) return '; this is a line with tabs, as of TSV';
  return isTable && text.includes(',') ? '; this is a line with commas, as of CSV' : '';
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
