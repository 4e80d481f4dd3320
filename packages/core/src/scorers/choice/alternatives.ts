/**
 * Joins the alternatives of a pattern into a group. They are written several to a line, with ` | ` between them;
 * a line that starts with `#` is a comment.
 */
export function anyOf(alternatives: string): string {
  const each = alternatives
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(' | '))
    .map((alternative) => alternative.trim())
    .filter((alternative) => alternative !== '');
  return `(?:${each.join('|')})`;
}
