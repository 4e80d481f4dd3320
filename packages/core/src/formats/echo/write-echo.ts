import type { ExportedRun } from '../result-format.ts';
import { echoMetaSchema, echoRowSchema } from './echo-row.ts';

/** Writes a run as Echo does: byte for byte the file that it was imported from, where that was whole. */
export function* writeEcho({ header, rows }: ExportedRun): Iterable<string> {
  const head = header.imported?.head ?? null;
  if (head !== null) yield `${toPython(echoMetaSchema.parse(head))}\n`;
  const imported = rows.flatMap((row) => row.imported ?? []);
  for (const { row } of imported.toSorted((left, right) => left.position - right.position)) {
    yield `${toPython(echoRowSchema.parse(row))}\n`;
  }
}

/** JSON as Python's `json.dumps` prints it: blanks between items, ASCII only. */
function toPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value === 'string') return toAscii(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const items = Object.entries(value).map(([name, item]: [string, unknown]) => {
    const isFloat = name === 'wall_seconds' && typeof item === 'number';
    return `${toAscii(name)}: ${isFloat ? toPythonFloat(item) : toPython(item)}`;
  });
  return `{${items.join(', ')}}`;
}

function toAscii(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Both languages print the fewest digits that read back the same, but switch to an exponent at other sizes. */
function toPythonFloat(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
