const MARK = '====';

/** Places a text of unknown origin between two lines with a mark, which has to be one that {@link markFor} gives for it. */
export function fence(name: string, text: string, mark: string): string {
  return `${mark} ${name} begins ${mark}\n${text}\n${mark} ${name} ends ${mark}`;
}

/**
 * The mark around each text of a prompt, which none of them contains, so that nothing in one can pass for the end of it, or
 * for another one. It is the mark alone, or that with the first number around which no text has it. Takes time in proportion to the
 * texts, whatever they are.
 */
export function markFor(texts: readonly string[]): string {
  if (!texts.some((text) => text.includes(MARK))) return MARK;
  // Ahead of the match, so that a mark which begins within another one is found, too.
  const found = texts.flatMap((text) => [...text.matchAll(/====(?=(\d{1,9})====)/g)]);
  const taken = new Set(found.map(([, number]) => number));
  let number = 1;
  while (taken.has(String(number))) number += 1;
  return `${MARK}${number}${MARK}`;
}
