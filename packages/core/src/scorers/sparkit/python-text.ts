/** A number of a JSON text as it was written: Python tells 1 from 1.0. */
export class WrittenNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Returns what Python's `str` makes of a JSON value, whose numbers are {@link WrittenNumber}s. */
export function pythonText(value: unknown): string {
  return typeof value === 'string' ? value : represent(value);
}

/** Python's `repr`. */
function represent(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value instanceof WrittenNumber) return representNumber(value.source);
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return `[${value.map(represent).join(', ')}]`;
  const entries = Object.entries(value as object);
  return `{${entries.map(([key, item]) => `${quote(key)}: ${represent(item)}`).join(', ')}}`;
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll(mark, `\\${mark}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return `${mark}${escaped}${mark}`;
}

/** Both languages write the fewest digits that mean the number, but Python has exponents below 1e-4 and from 1e16 on. */
function representNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return BigInt(source).toString();
  const value = Number(source);
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 16)
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  const plain = String(value);
  return plain.includes('.') ? plain : `${plain}.0`;
}
