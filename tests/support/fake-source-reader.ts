import { createHash } from 'node:crypto';
import { type CreateDigest, type SourceReader, ThriceError } from '@thrice/core';

/** In-memory files by absolute path. */
export class FakeSourceReader implements SourceReader {
  readonly #files: ReadonlyMap<string, string>;

  constructor(files: Readonly<Record<string, string>>) {
    this.#files = new Map(Object.entries(files));
  }

  async *readLines(path: string): AsyncIterable<string> {
    const lines = (await this.readText(path)).split('\n');
    if (lines.at(-1) === '') lines.pop();
    for (const line of lines) yield line.replace(/\r$/, '');
  }

  async readText(path: string): Promise<string> {
    const text = this.#files.get(path);
    if (text !== undefined) return text;
    throw new ThriceError({ code: 'invalid-file', message: `${path}: no such file` });
  }

  async listFolder(path: string): Promise<readonly string[] | undefined> {
    const inside = [...this.#files.keys()].filter((file) => file.startsWith(`${path}/`));
    const names = inside.map((file) => file.slice(path.length + 1).split('/')[0] ?? '');
    return names.length === 0 ? undefined : [...new Set(names)].sort();
  }

  async digestFile(path: string): Promise<string | undefined> {
    const text = this.#files.get(path);
    return text === undefined ? undefined : sha256(text);
  }
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
