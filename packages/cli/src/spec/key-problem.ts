/** Quotation marks as they are copied from other files and from web pages. */
const QUOTED = /^["'`\u201C\u2018].*["'`\u201D\u2019]$/s;

/** Says what keeps a value from being a key that can be sent; undefined for one that can, and for none. Never shows it. */
export function describeBadKey(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (QUOTED.test(value)) return 'a text between quotation marks; leave them out';
  if (/^bearer\s/i.test(value)) return 'a text that begins with "Bearer"; leave that out';
  if (/\s/.test(value)) return 'a text with white space inside; set the key alone';
  if (value.startsWith('$')) return 'the name of a variable; set its value';
  if (/^[A-Z][A-Z\d_]*=/.test(value)) return 'a text with a name and "="; set the key alone';
  if (/\.\.\.|your.*key/i.test(value)) return 'a placeholder; set the key of your account';
  return /^[\u0021-\u007E]+$/.test(value)
    ? undefined
    : 'a text with characters that no key has; copy it again';
}
