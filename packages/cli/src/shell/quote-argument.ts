/** Quotes an argument of a command line for a shell, where it needs it. */
export function quoteArgument(text: string): string {
  return /^[\w./@%+:,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
