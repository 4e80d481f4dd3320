const MARK = '====';

/**
 * A text of unknown origin between two marks that it does not contain, so that nothing in it can pass for what stands
 * around it. Takes time in proportion to the text, whatever the text is.
 */
export function fence(name: string, text: string): string {
  const mark = markFor(text);
  return `${mark} ${name} begins ${mark}\n${text}\n${mark} ${name} ends ${mark}`;
}

/** The mark alone, or with the first number around which the text does not have it. */
function markFor(text: string): string {
  if (!text.includes(MARK)) return MARK;
  // Ahead of the match, so that a mark which begins within another one is found, too.
  const taken = new Set([...text.matchAll(/====(?=(\d{1,9})====)/g)].map(([, number]) => number));
  let number = 1;
  while (taken.has(String(number))) number += 1;
  return `${MARK}${number}${MARK}`;
}
