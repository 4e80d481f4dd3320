import { trimEmphasis } from '../trim-where.ts';

/** Reads the lines of a reply that are `name: value`, in any case and markup, by name; spaces in a name are underscores. */
export function readFields(reply: string): ReadonlyMap<string, readonly string[]> {
  const fields = new Map<string, string[]>();
  for (const line of reply.split('\n')) {
    // Headings, quotations, lists.
    const plain = trimEmphasis(line.replace(/^[\s>#*_`-]+/, ''));
    const [, name, value = ''] = /^([A-Za-z][A-Za-z_ ]{0,40}?)[\s*_`]{0,9}:(.*)$/.exec(plain) ?? [];
    if (name === undefined) continue;
    const key = name.trim().toLowerCase().replace(/ /g, '_');
    const values = fields.get(key) ?? [];
    values.push(trimEmphasis(value));
    fields.set(key, values);
  }
  return fields;
}
