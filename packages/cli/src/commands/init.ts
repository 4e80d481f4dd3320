import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { ThriceError } from '@thrice/core';
import { makeFolder } from '@thrice/local';
import { nameCommands } from '../shell/command-name.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { ignoredFiles, starterFiles } from '../starter/starter-files.ts';

/** `thrice init`: writes a benchmark that runs at once. Replaces no file. */
export async function initBenchmark(terminal: Terminal, folder = '.'): Promise<ExitCode> {
  const { workingFolder } = terminal;
  const target = resolve(workingFolder, folder);
  const existing = Object.keys(starterFiles).filter((name) => existsSync(join(target, name)));
  if (existing.length > 0) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${target}: expected a folder without ${existing.join(', ')}; nothing was written. Name another folder: thrice init DIR`,
    });
  }
  const files = Object.entries(starterFiles).map(([name, text]) => [
    name,
    nameCommands(text, terminal.commandName),
  ]);
  await writeFiles(target, Object.fromEntries(files));
  terminal.print(`wrote ${Object.keys(starterFiles).join(', ')} into ${target}`);
  await ignoreFiles(target, terminal);
  const inner = relative(workingFolder, target);
  const next = [
    '',
    'Next:',
    ...(inner === '' ? [] : [`  cd ${inner}`]),
    '  thrice run benchmark.toml     # simulated models; needs no key',
    '  thrice summarize --latest',
    '',
    'With a real model: cp .env.example .env, fill in a key, and change one `model` in benchmark.toml.',
  ].join('\n');
  terminal.print(nameCommands(next, terminal.commandName));
  return exitCodes.complete;
}

/** @throws {ThriceError} `invalid-argument` for a folder that cannot be written. */
async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
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

/** Keeps keys and runs out of Git, where no `.gitignore` of the user's own decides. */
async function ignoreFiles(folder: string, terminal: Terminal): Promise<void> {
  if (existsSync(join(folder, '.gitignore'))) {
    terminal.print(`.gitignore is kept; add to it: ${ignoredFiles.join(' ')}`);
    return;
  }
  await writeFiles(folder, { '.gitignore': ignoredFiles.map((line) => `${line}\n`).join('') });
}
