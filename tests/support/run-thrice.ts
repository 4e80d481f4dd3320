import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { runCommand } from '../../packages/cli/src/main.ts';
import type { Terminal } from '../../packages/cli/src/shell/terminal.ts';

/** The command as npm links it. */
export const thriceBin: string = resolve(import.meta.dirname, '../../packages/cli/bin/thrice.js');

/** How a command line ended and what it said. */
export interface Outcome {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where and how a command is started. */
export interface Surroundings {
  /** The working folder. */
  readonly cwd: string;
  /** Variables beside `PATH` and `HOME`; no key of the developer's reaches a test. */
  readonly environment?: Readonly<Record<string, string>>;
  /** @default this Node */
  readonly node?: string;
  /** A shell script to run in place of the command itself; `"$@"` is the command line. */
  readonly shell?: string;
}

/** A running command; ended when disposed of. */
export interface RunningThrice extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves once stdout and stderr together match, rejects if the command ends before. */
  says(pattern: RegExp): Promise<void>;
  readonly ended: Promise<Outcome>;
}

/** Runs a command line as a process of its own, to its end. */
export async function runThrice(
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<Outcome> {
  await using running = startThrice(argv, surroundings);
  return await running.ended;
}

/** Starts a command line as a process of its own. */
export function startThrice(argv: readonly string[], surroundings: Surroundings): RunningThrice {
  const { cwd, environment = {}, node = process.execPath, shell } = surroundings;
  const command = [node, thriceBin, ...argv];
  const [file = '', ...args] =
    shell === undefined ? command : ['bash', '-c', shell, 'bash', ...command];
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close');
  const ended = closed.then(
    ([exitCode]): Outcome => ({
      exitCode: exitCode as number | null,
      stdout,
      stderr,
    }),
  );
  return {
    child,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    ended,
    says: async (pattern) => {
      while (!pattern.test(stdout + stderr)) {
        const news = new AbortController();
        const { signal } = news;
        await Promise.race([
          once(child.stdout, 'data', { signal }),
          once(child.stderr, 'data', { signal }),
          ended.then((outcome) => {
            if (pattern.test(stdout + stderr)) return;
            throw new Error(`ended without saying ${pattern.source}: ${JSON.stringify(outcome)}`);
          }),
        ]).finally(() => news.abort());
      }
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await closed;
    },
  };
}

/** A terminal that keeps what it is told. */
export interface FakeTerminal extends Terminal {
  /** Everything printed on stdout so far. */
  readonly stdout: string;
  /** Everything on stderr so far, drawn text included. */
  readonly stderr: string;
}

/** A terminal that is a log by default: not interactive, 80 columns, an empty environment. */
export function fakeTerminal(own: Partial<Terminal> = {}): FakeTerminal {
  let stdout = '';
  let stderr = '';
  return {
    isInteractive: false,
    columns: 80,
    rows: 24,
    environment: {},
    workingFolder: '/',
    commandLine: [],
    ...own,
    print: (text) => {
      stdout += `${text}\n`;
    },
    error: (text) => {
      stderr += `${text}\n`;
    },
    draw: (text) => {
      stderr += text;
    },
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
  };
}

/** Runs a command line inside this process: the same code without the start of a process. */
export async function callThrice(
  argv: readonly string[],
  { cwd, environment = {} }: Pick<Surroundings, 'cwd' | 'environment'>,
): Promise<Outcome> {
  const terminal = fakeTerminal({ workingFolder: cwd, environment, commandLine: argv });
  const exitCode = await runCommand(argv, terminal);
  return { exitCode, stdout: terminal.stdout, stderr: terminal.stderr };
}
