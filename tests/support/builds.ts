import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** In the repository, where built code finds the packages that it imports. */
const parent = resolve(import.meta.dirname, '../../.vitest');

/** The variable with the folder of `buildOnce`. */
export const BUILDS_VARIABLE = 'THRICE_TEST_BUILDS';

/**
 * Global setup of a Vitest project whose tests build something: creates the folder of `buildOnce`, and removes it in
 * the end. The workers inherit the variable.
 */
export async function setup(): Promise<() => Promise<void>> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'build-'));
  process.env[BUILDS_VARIABLE] = folder;
  return () => rm(folder, { recursive: true, force: true });
}
