/** Removes the characters at both ends that a rule names. Unlike a pattern, takes time in proportion to the text. */
export function trimWhere(text: string, isRemoved: (character: string) => boolean): string {
  let start = 0;
  let end = text.length;
  while (start < end && isRemoved(text.charAt(start))) start += 1;
  while (start < end && isRemoved(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** Removes blanks and the marks of emphasis and code at both ends. */
export function trimEmphasis(text: string): string {
  return trimWhere(text, (character) => /[\s*_`]/.test(character));
}
