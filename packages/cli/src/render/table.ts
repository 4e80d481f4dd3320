/** How a table is written: for a terminal, for Markdown, or as CSV. */
export type TableForm = 'text' | 'md' | 'csv';

/**
 * Renders a table; columns whose cells all look like numbers are set flush right.
 *
 * @param rows - Each as long as `header`.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  form: TableForm,
): string {
  if (form === 'csv') return [header, ...rows].map(renderCsvRow).join('\n').concat('\n');
  const isNumeric = header.map((_, column) => rows.every((row) => looksNumeric(row[column] ?? '')));
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      isNumeric[column] === true
        ? cell.padStart(widths[column] ?? 0)
        : cell.padEnd(widths[column] ?? 0),
    );
  if (form === 'text') {
    return [header, ...rows].map((row) => `${line(row).join('  ').trimEnd()}\n`).join('');
  }
  const rule = widths.map((width, column) =>
    isNumeric[column] === true
      ? `${'-'.repeat(Math.max(2, width - 1))}:`
      : '-'.repeat(Math.max(3, width)),
  );
  return [
    line(header.map(escapeMarkdown)),
    rule,
    ...rows.map((row) => line(row.map(escapeMarkdown))),
  ]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

function looksNumeric(cell: string): boolean {
  return /^[-–\d$.,%±/() ]*$/.test(cell);
}

function escapeMarkdown(cell: string): string {
  return cell.replaceAll('|', '\\|');
}

function renderCsvRow(cells: readonly string[]): string {
  return cells.map(renderCsvCell).join(',');
}

/** Quoted where needed; a text that a spreadsheet would run as a formula gets an apostrophe. */
function renderCsvCell(cell: string): string {
  const isFormula = /^[=+@\t\r]/.test(cell) || (cell.startsWith('-') && !/^-\d/.test(cell));
  const safe = isFormula ? `'${cell}` : cell;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
