import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILDS_VARIABLE } from './builds.ts';
import { waitUntil } from './wait-until.ts';

interface Built<Result> {
  readonly result: Result;
  readonly error?: string;
}

/**
 * Builds something once for all files of a Vitest project: the first worker that needs it builds it, others wait.
 *
 * @param name - Of the build, unique in the project.
 * @param build - Builds into a folder, which exists until the last test has ended. Its result is stored as JSON.
 */
export async function buildOnce<Result>(
  name: string,
  build: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = join(process.env[BUILDS_VARIABLE] ?? '', name);
  const file = `${folder}.json`;
  if (await isCreated(folder)) {
    const outcome = await build(folder).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: String(error) }),
    );
    await writeFile(`${file}.new`, JSON.stringify(outcome));
    await rename(`${file}.new`, file);
  } else await waitUntil(`${name} is built`, () => existsSync(file));
  const { result, error } = JSON.parse(await readFile(file, 'utf8')) as Built<Result>;
  if (error !== undefined) throw new Error(`${name}: ${error}`);
  return result;
}

/** Creates a folder; false if there is one. */
async function isCreated(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
