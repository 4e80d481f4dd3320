/** The header by which Thrice names the call it makes: `<run>/<config>/<id>/<step>`. */
export const cellKeyHeader = 'x-thrice-cell';

/** A cell key, its parts decoded. */
export interface CellKey {
  readonly run: string;
  readonly config: string;
  readonly id: string;
  readonly step: string;
}

/** Reads the header; `undefined` for anything that is not four percent-encoded parts. */
export function parseCellKey(header: string): CellKey | undefined {
  const parts = header.split('/');
  if (parts.length !== 4) return undefined;
  try {
    const [run = '', config = '', id = '', step = ''] = parts.map(decodeURIComponent);
    return { run, config, id, step };
  } catch {
    // A stray percent sign: the header still serves as an opaque key.
    return undefined;
  }
}
