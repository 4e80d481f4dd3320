/** How a table is written: for a terminal, for Markdown, or as CSV. */
export type TableForm = 'text' | 'md' | 'csv';

/**
 * Renders a table; columns whose cells all look like numbers are set flush right.
 *
 * @param header - Titles, written by us.
 * @param rows - Each as long as `header`; what may stand in them, may be anybody's text.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  form: TableForm,
): string {
  if (form === 'csv') return [header, ...rows].map(renderCsvRow).join('\n').concat('\n');
  const toCell = form === 'md' ? escapeMarkdown : oneLine;
  return renderAligned(
    header.map(toCell),
    rows.map((row) => row.map(toCell)),
    form,
  );
}

function renderAligned(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  form: 'text' | 'md',
): string {
  // A Markdown rule has three characters at least.
  const leastWidth = form === 'md' ? 3 : 0;
  const isNumeric = header.map((_, column) => rows.every((row) => looksNumeric(row[column] ?? '')));
  const widths = header.map((title, column) =>
    Math.max(leastWidth, title.length, ...rows.map((row) => (row[column] ?? '').length)),
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
    isNumeric[column] === true ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  return [line(header), rule, ...rows.map(line)]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

function looksNumeric(cell: string): boolean {
  return /^[-–\d$.,%±/() ]*$/.test(cell);
}

/** A line end in a cell would end its row. */
function oneLine(cell: string): string {
  return cell.replace(/\s*[\r\n]+\s*/g, ' ');
}

function escapeMarkdown(cell: string): string {
  return oneLine(cell).replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;');
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
