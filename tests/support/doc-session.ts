import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { runCommand } from '../../packages/cli/src/main.ts';
import { nameCommands } from '../../packages/cli/src/shell/command-name.ts';
import { isShown, type PageStep, readPage } from './doc-page.ts';
import { fakeTerminal, thriceBin } from './run-thrice.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Commands that a test cannot run inside another one, and where they are run. */
const runElsewhere: Readonly<Record<string, string>> = {
  'npm ci': '.ci/run',
  'npm test': '.ci/run',
  'npm run pack': 'tests/e2e/packages.test.ts',
  'npx thrice run examples/quickstart/benchmark.toml': 'tests/e2e/commands.test.ts',
};

/**
 * Does what a page tells its reader to do, and compares what it shows with what is printed.
 *
 * @param page - Its path in the repository.
 * @param variables - Environment variables of the commands, besides `PATH`, `HOME` and `REPOSITORY`.
 */
export async function followPage(
  page: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using session = await openSession(variables);
  // The cloud on this machine is stage "local".
  const text = (await readFile(join(root, page), 'utf8')).replaceAll('stage dev', 'stage local');
  for (const step of readPage(text)) {
    const execution = await session.perform(step);
    if (execution === undefined || step.kind !== 'command') continue;
    const at = `${page}:${step.line}: ${step.command}`;
    // The whole output says more than an exit code.
    const { exitCode, output } = execution;
    expect(exitCode === step.exitCode ? { at } : { at, exitCode, output }).toEqual({ at });
    const [shown, printed] = [timeless(step.output ?? ''), timeless(output)];
    if (!isShown(shown, printed)) expect({ at, printed }).toEqual({ at, printed: shown });
  }
}

/** What a command printed, on stdout and stderr in one, and its exit code. */
interface Execution {
  readonly exitCode: number;
  readonly output: string;
}

/** A shell that follows a page of the docs, in a folder of its own. */
interface DocSession extends AsyncDisposable {
  /** Writes the file or runs the command of a step; undefined for what is run elsewhere, or not at all. */
  perform(step: PageStep): Promise<Execution | undefined>;
}

/** The name of a group: a page shows one of an earlier run. */
const GROUP = /\b([a-z][a-z0-9-]*)-\d{8}T\d{6}Z-[\da-f]{4}/g;
/** A command of Thrice without quotes, variables or redirections. It can run inside this process. */
const PLAIN_COMMAND = /^npx thrice (?!.*--(?:detach|stage) )[\w ./=,-]+$/;

/** Opens a session in a folder with the examples of the repository. */
async function openSession(variables: Readonly<Record<string, string>>): Promise<DocSession> {
  const folder = await temporaryFolder();
  await cp(join(root, 'examples'), folder.resolve('examples'), { recursive: true });
  const environment: Record<string, string> = { ...variables };
  /** The newest group by its label. */
  const groups = new Map<string, string>();
  let cwd = folder.path;

  const execute = async (command: string): Promise<Execution | undefined> => {
    const [first = '', ...words] = command.split(/ +/);
    if (first === 'cd') {
      cwd = resolve(cwd, words.join(' '));
      return undefined;
    }
    if (first === 'export') {
      const [name = '', value = ''] = words.join(' ').split('=');
      environment[name] = value;
      return undefined;
    }
    return PLAIN_COMMAND.test(`${command} `)
      ? await callInside(words.slice(1), cwd, environment)
      : await callShell(command, cwd, { HOME: folder.path, REPOSITORY: root, ...environment });
  };

  return {
    perform: async (step) => {
      if (step.kind === 'not-run') return undefined;
      if (step.kind === 'file') {
        await mkdir(dirname(join(cwd, step.path)), { recursive: true });
        await writeFile(join(cwd, step.path), step.text);
        return undefined;
      }
      if (runElsewhere[step.command] !== undefined) return undefined;
      const command = step.command.replaceAll(GROUP, (name, label: string) => {
        return groups.get(label) ?? name;
      });
      const execution = await execute(command);
      if (execution === undefined) return undefined;
      for (const [name, label = ''] of execution.output.matchAll(GROUP)) groups.set(label, name);
      // Folders of this machine are `...` in the pages.
      const output = execution.output
        .replaceAll(thriceBin, 'npx --no thrice')
        .replaceAll(cwd, '...')
        .replaceAll(folder.path, '...');
      return { ...execution, output };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Runs a command line inside this process, and keeps the order of what it prints. */
async function callInside(
  argv: readonly string[],
  workingFolder: string,
  environment: Readonly<Record<string, string>>,
): Promise<Execution> {
  const printed: string[] = [];
  const print = (text: string) => {
    printed.push(text);
  };
  const terminal = fakeTerminal({
    ...{ workingFolder, environment, commandLine: argv },
    commandName: 'npx --no thrice',
  });
  const exitCode = await runCommand(argv, {
    ...terminal,
    print,
    error: (text) => print(nameCommands(text, terminal.commandName)),
    draw: print,
  });
  return { exitCode, output: printed.join('\n') };
}

async function callShell(
  command: string,
  cwd: string,
  environment: Readonly<Record<string, string>>,
): Promise<Execution> {
  const script = `npx() { [ "$1" = thrice ] || return 127; shift; '${process.execPath}' '${thriceBin}' "$@"; }; exec 2>&1; ${command}`;
  const env = { PATH: process.env['PATH'], ...environment };
  try {
    const { stdout } = await run('bash', ['-c', script], { cwd, env });
    return { exitCode: 0, output: stdout };
  } catch (error) {
    const { code, stdout = '' } = error as { readonly code?: unknown; readonly stdout?: string };
    if (typeof code !== 'number') throw error;
    return { exitCode: code, output: stdout };
  }
}

/** Replaces what differs from run to run in an output. */
function timeless(text: string): string {
  return text
    .replaceAll(GROUP, '$1-<time>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>')
    .replaceAll(/(?<=\$\d+\.\d+ +|– +|\.\d +\d+ +)\d+\.\d(?= )/g, '<seconds>')
    .replaceAll(/\bin \d+s\b/g, 'in <seconds>')
    .replaceAll(/\b[\d.]+ (m?s)\b/g, '<n> $1')
    .replaceAll(/\b\d+ retries\b/g, '<n> retries')
    .replaceAll(/127\.0\.0\.1:\d{4,5}\b/g, '<host>')
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ $/gm, '');
}
