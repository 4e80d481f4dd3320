import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { nameCommands } from '../shell/command-name.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { ignoredFiles, starterFiles } from '../starter/starter-files.ts';
import { writeNewFiles } from '../starter/write-new-files.ts';

/** `thrice init`: writes a benchmark that runs at once. Replaces no file. */
export async function initBenchmark(terminal: Terminal, folder = '.'): Promise<ExitCode> {
  const { workingFolder } = terminal;
  const target = resolve(workingFolder, folder);
  const files = Object.entries(starterFiles).map(([name, text]) => [
    name,
    nameCommands(text, terminal.commandName),
  ]);
  const remedy = 'Name another folder: thrice init DIR';
  await writeNewFiles(target, Object.fromEntries(files), remedy);
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

/** Keeps keys and runs out of Git, where no `.gitignore` of the user's own decides. */
async function ignoreFiles(folder: string, terminal: Terminal): Promise<void> {
  if (existsSync(join(folder, '.gitignore'))) {
    terminal.print(`.gitignore is kept; add to it: ${ignoredFiles.join(' ')}`);
    return;
  }
  const text = ignoredFiles.map((line) => `${line}\n`).join('');
  await writeNewFiles(folder, { '.gitignore': text }, 'Repeat the command.');
}
