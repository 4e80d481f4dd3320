/** Cuts a text to a number of characters, the last of which is `…` if any are left out. */
export function shorten(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1).toWellFormed()}…`;
}
