/** The header in which Thrice identifies its call: `<run>/<config>/<id>/<step>`. */
export const cellKeyHeader = 'x-thrice-cell';

/** A decoded cell key. */
export interface CellKey {
  readonly run: string;
  readonly config: string;
  readonly id: string;
  readonly step: string;
}

/** Parses the header. Returns `undefined` unless it has four percent-encoded parts. */
export function parseCellKey(header: string): CellKey | undefined {
  const parts = header.split('/');
  if (parts.length !== 4) return undefined;
  try {
    const [run = '', config = '', id = '', step = ''] = parts.map(decodeURIComponent);
    return { run, config, id, step };
  } catch {
    // An invalid percent sequence: the header can still be used as an opaque key.
    return undefined;
  }
}
