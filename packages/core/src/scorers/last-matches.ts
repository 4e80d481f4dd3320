/**
 * Returns the last matches of a pattern, in the order of the text.
 *
 * Never holds many more than that: all matches of a text of a million characters would fill the memory.
 */
export function lastMatches(text: string, pattern: RegExp, count: number): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  for (const match of text.matchAll(pattern)) {
    matches.push(match);
    if (matches.length >= 2 * count) matches.splice(0, count);
  }
  return matches.slice(-count);
}
