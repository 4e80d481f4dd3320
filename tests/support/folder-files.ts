import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Lists the files below a folder, by their path in it, sorted. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted();
}

/**
 * Reads the files below a folder, by their path in it.
 *
 * @param encoding - `latin1` keeps every byte of files that are no text. @default utf8
 */
export async function readFiles(
  folder: string,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<ReadonlyMap<string, string>> {
  const files = (await listFiles(folder)).map(
    async (path) => [path, await readFile(join(folder, path), encoding)] as const,
  );
  return new Map(await Promise.all(files));
}
