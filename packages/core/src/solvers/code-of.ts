/**
 * The program in a text: its last fenced block, or the whole text without one; without empty lines, spaces at the ends
 * of lines, and the indentation that all lines share.
 *
 * The language is not parsed: programs that differ in a comment or a name are different.
 */
export function codeOf(text: string): string {
  const lines = lastBlockOf(text)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
  const indents = lines.map((line) => line.length - line.trimStart().length);
  const shared = indents.reduce(
    (least, indent) => Math.min(least, indent),
    Number.POSITIVE_INFINITY,
  );
  return lines.map((line) => line.slice(shared)).join('\n');
}

/** A block that does not end counts to the end of the text. */
function lastBlockOf(text: string): readonly string[] {
  const lines = text.split('\n');
  let block: readonly string[] | undefined;
  let startIndex: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (!line.trimStart().startsWith('```')) continue;
    if (startIndex === undefined) startIndex = index + 1;
    else {
      block = lines.slice(startIndex, index);
      startIndex = undefined;
    }
  }
  if (startIndex !== undefined) return lines.slice(startIndex);
  return block ?? lines;
}
