/**
 * What is wrong with a text that `JSON.parse` refused, on one line: where, then the parser's reason.
 *
 * `column 8: Unexpected token 'x'` in a text of one line, else `line 3, column 8: ...`.
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

/** The parser names the position of all errors but two: a text that ends too soon, and a bad token. */
function findOffset(message: string, text: string): number {
  const [, position] = /at position (\d+)/.exec(message) ?? [];
  if (position !== undefined) return Number(position);
  return message.startsWith('Unexpected token') ? findBadToken(text) : text.trimEnd().length;
}

/** Bisects for the shortest beginning of the text that has the bad token in it already. */
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

function hasBadToken(beginning: string): boolean {
  try {
    JSON.parse(beginning);
    return false;
  } catch (error) {
    return messageOf(error).startsWith('Unexpected token');
  }
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
