/** The header in which Thrice identifies its call: `<run>/<config>/<id>/<step>`. */
export const cellKeyHeader = 'x-thrice-cell';

/** A decoded cell key. */
export interface RequestedCell {
  readonly run: string;
  readonly config: string;
  readonly id: string;
  readonly step: string;
}

/**
 * Returns what a run shares with those of other groups: which replicate it is.
 *
 * Whatever is drawn for a cell depends on this instead of the run, whose name has the time in it: each run of a
 * benchmark gets the same answers.
 */
export function replicateOf(run: string): string {
  return /-(r\d+)$/.exec(run)?.[1] ?? run;
}

/** Parses the header. Returns `undefined` unless it has four percent-encoded parts. */
export function parseCellKey(header: string): RequestedCell | undefined {
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
