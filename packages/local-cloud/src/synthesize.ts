import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOf } from './end-of.ts';

/**
 * Synthesizes the stage `local` in a process of its own.
 *
 * @param root - The repository.
 * @param folder - Where the result is written to.
 */
export async function synthesize(root: string, folder: string): Promise<unknown> {
  const out = join(folder, 'stack.json');
  const script = join(root, 'packages/local-cloud/src/synth/synth.mjs');
  // Nothing of ours but the command's output goes to stdout.
  const synth = spawn(process.execPath, [script, '--stage', 'local', '--out', out], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  const exitCode = await endOf(synth);
  if (exitCode !== 0) throw new Error(`synth ended with ${exitCode}`);
  return JSON.parse(await readFile(out, 'utf8')) as unknown;
}
