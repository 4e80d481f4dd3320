import { join } from 'node:path';
import { buildCommand } from '../../packages/release/src/build-command.ts';
import { buildOnce } from './build-once.ts';
import { BUILT_COMMAND_VARIABLE } from './run-thrice.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Global setup of a Vitest project that starts commands: they are those of the published package, which start three
 * times as fast as the sources. Follows that of `builds.ts`.
 */
export async function setup(): Promise<void> {
  const folder = await buildOnce('command', (staging) => buildCommand({ root, staging }));
  process.env[BUILT_COMMAND_VARIABLE] = join(folder, 'bin/thrice.js');
}
