import { createHash } from 'node:crypto';
import { type CreateDigest, type SourceReader, type TableRow, ThriceError } from '@thrice/core';

/** In-memory files by absolute path. */
export class FakeSourceReader implements SourceReader {
  readonly #files: ReadonlyMap<string, string>;
  readonly #tables: ReadonlyMap<string, readonly TableRow['value'][]>;

  /** @param tables - The rows of CSV, TSV and Parquet files; their places are those of Parquet. */
  constructor(
    files: Readonly<Record<string, string>>,
    tables: Readonly<Record<string, readonly TableRow['value'][]>> = {},
  ) {
    this.#files = new Map(Object.entries(files));
    this.#tables = new Map(Object.entries(tables));
  }

  async *readTable(path: string): AsyncIterable<TableRow> {
    const rows = this.#tables.get(path);
    if (rows === undefined) throw missing(path);
    for (const [index, value] of rows.entries()) yield { value, place: `[${index}]` };
  }

  async *readLines(path: string): AsyncIterable<string> {
    const lines = (await this.readText(path)).split('\n');
    if (lines.at(-1) === '') lines.pop();
    for (const line of lines) yield line.replace(/\r$/, '');
  }

  async readStart(path: string): Promise<string> {
    return await this.readText(path);
  }

  async readText(path: string): Promise<string> {
    const text = this.#files.get(path);
    if (text !== undefined) return text;
    throw missing(path);
  }

  async listFolder(path: string): Promise<readonly string[] | undefined> {
    const inside = [...this.#files.keys(), ...this.#tables.keys()].filter((file) =>
      file.startsWith(`${path}/`),
    );
    const names = inside.map((file) => file.slice(path.length + 1).split('/')[0] ?? '');
    return names.length === 0 ? undefined : [...new Set(names)].sort();
  }

  async digestFile(path: string): Promise<string | undefined> {
    const text = this.#files.get(path);
    return text === undefined ? undefined : sha256(text);
  }

  digestText(text: string): string {
    return sha256(text);
  }
}

function missing(path: string): ThriceError {
  return new ThriceError({ code: 'invalid-file', message: `${path}: no such file` });
}

/** SHA-256 as a `CreateDigest`. */
export const createTestDigest: CreateDigest = () => {
  const hash = createHash('sha256');
  return {
    update: (text) => {
      hash.update(text, 'utf8');
    },
    hex: () => hash.digest('hex'),
  };
};

/** Returns the SHA-256 of a text's UTF-8 bytes in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
