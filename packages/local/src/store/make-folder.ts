import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and those above it; one that exists is left as it is.
 *
 * Node's own way, `mkdir` with `recursive`, never returns where the system refuses a folder with ENOENT although the one
 * above it exists, as below /proc (seen with Node 24.21).
 *
 * @throws The error of the system.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isThere = code === 'EEXIST' && statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere === true) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || existsSync(parent)) throw error;
    makeFolder(parent);
    makeFolder(path);
  }
}
