import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ThriceError } from '@thrice/core';
import { makeFolder } from '@thrice/local';

/**
 * Writes files into a folder, which is created if needed. Replaces no file.
 *
 * @param files - The texts by their names.
 * @param remedy - What to do where one of them exists.
 * @throws {ThriceError} `invalid-argument` where one exists, or the folder cannot be written.
 */
export async function writeNewFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
  remedy: string,
): Promise<void> {
  const existing = Object.keys(files).filter((name) => existsSync(join(folder, name)));
  if (existing.length > 0) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${folder}: expected a folder without ${existing.join(', ')}; nothing was written. ${remedy}`,
    });
  }
  try {
    makeFolder(folder);
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(folder, name), text, { flag: 'wx' });
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${folder}: expected a folder that can be written (${message})`,
      cause: error,
    });
  }
}
