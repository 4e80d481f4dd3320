/**
 * Finds the known name closest to a misspelled one.
 *
 * @returns The name with the smallest edit distance, if that is at most a third of the name's length
 *   or 2, whichever is larger, and at most half of it.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  const length = best?.length ?? 0;
  const limit = Math.min(Math.max(2, Math.floor(length / 3)), Math.floor(length / 2));
  return bestDistance <= limit ? best : undefined;
}

/** Levenshtein distance, in characters. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [i, a] of [...left].entries()) {
    const next = [i + 1];
    for (const [j, b] of [...right].entries()) {
      const substitution = (row[j] ?? 0) + (a === b ? 0 : 1);
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, substitution));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** Returns `; did you mean "x"?`, or an empty text if no known name is close. */
export function suggestName(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}
