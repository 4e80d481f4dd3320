/**
 * Replaces the tables of a Markdown document, each between `<!-- capacity-model NAME -->` and
 * `<!-- /capacity-model -->`.
 *
 * @throws Error when the document has no markers for a table.
 */
export function updateDocument(text: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((document, [name, table]) => {
    const begin = `<!-- capacity-model ${name} -->`;
    const end = '<!-- /capacity-model -->';
    const beginAt = document.indexOf(begin);
    const endAt = document.indexOf(end, beginAt);
    if (beginAt === -1 || endAt === -1) throw new Error(`no markers for the table "${name}"`);
    const before = document.slice(0, beginAt + begin.length);
    return `${before}\n\n${table}\n\n${document.slice(endAt)}`;
  }, text);
}
