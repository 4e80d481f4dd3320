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
  return `${isOneLine ? column : `line ${before.length}, ${column}`}: ${reason}`;
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
