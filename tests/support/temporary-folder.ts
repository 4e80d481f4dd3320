import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder of its own for one test, gone when disposed of. */
export interface TemporaryFolder extends AsyncDisposable {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** An absolute path inside. */
  resolve(...parts: readonly string[]): string;
}

/**
 * Makes a fresh folder.
 *
 * @param files - Texts by relative path, to begin with.
 */
export async function temporaryFolder(
  files: Readonly<Record<string, string>> = {},
): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'thrice-test-')));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return {
    path,
    resolve: (...parts) => join(path, ...parts),
    [Symbol.asyncDispose]: async () => {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
