import type { ThriceError } from '@thrice/core';
import type { Command } from 'commander';
import { createProgram } from './program.ts';
import { describeFailure, failureToJson } from './render/failure-text.ts';
import { describeUsage } from './shell/describe-usage.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './shell/exit-codes.ts';
import { plainText, processTerminal, type Terminal } from './shell/terminal.ts';

/**
 * Runs one command line and sets the process's exit code.
 *
 * @param argv - Arguments without node and script.
 */
export async function main(argv: readonly string[]): Promise<void> {
  const output = watchOutput(process, (code) => {
    process.exitCode = code;
  });
  const exitCode = await runCommand(argv, processTerminal(process));
  if (!output.isFull) process.exitCode = exitCode;
}

/** Runs one command line on a terminal. Every failure is printed there and becomes an exit code. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.complete;
  const program = createProgram(terminal, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    return await reportFailure(error, terminal, { argv, options: optionsOf(program, argv) });
  }
}

async function reportFailure(
  thrown: unknown,
  terminal: Terminal,
  line: { readonly argv: readonly string[]; readonly options: readonly string[] },
): Promise<ExitCode> {
  if (isCommanderError(thrown) && thrown.exitCode === 0) return exitCodes.complete;
  // A command line without a command: its help has been printed.
  if (isCommanderError(thrown) && thrown.code === 'commander.help') return exitCodes.usage;
  // Loaded on demand: --help and --version do not need it.
  const { ThriceError, toThriceError } = await import('@thrice/core');
  const { reportLine } = await import('./render/report-line.ts');
  const error = isCommanderError(thrown)
    ? new ThriceError({
        code: 'invalid-argument',
        message: describeUsage(thrown.message, line)
          .replace(/^error: /, '')
          .replace('\n', ' '),
        cause: thrown,
      })
    : toThriceError(thrown);
  for (const line of describeFailure(error)) reportLine(plainText(line), terminal);
  if (error.class === 'internal') terminal.error(plainText(describeBug(error)));
  if (line.argv.includes('--json')) printDocument(failureToJson(error), terminal);
  return exitCodeOf(error);
}

/** The options of the command of a command line. */
function optionsOf(program: Command, argv: readonly string[]): readonly string[] {
  const find = (commands: readonly Command[]) =>
    commands.find((command) => argv.includes(command.name()));
  const command = find(program.commands) ?? program;
  const inner = find(command.commands) ?? command;
  return inner.options.flatMap(({ long }) => long ?? []);
}

/** Prints what a program reads. What cannot be printed has been told on stderr. */
function printDocument(document: unknown, terminal: Terminal): void {
  try {
    terminal.print(JSON.stringify(document, null, 2));
  } catch {
    // The error was that of printing.
  }
}

function describeBug(error: ThriceError): string {
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  return `This is a bug in Thrice, not in your benchmark. Please report it:\n${stack ?? ''}`;
}

/** The part of commander's `CommanderError` that matters here. */
interface CommanderFailure extends Error {
  readonly code: string;
  readonly exitCode: number;
}

function isCommanderError(thrown: unknown): thrown is CommanderFailure {
  return thrown instanceof Error && thrown.name === 'CommanderError' && 'exitCode' in thrown;
}

/**
 * Keeps a command running when its output cannot be written. A closed pipe (`| head`) or terminal is
 * not a failure, and a full disk under a log must not cost paid answers.
 *
 * @param onFull - Called once with the exit code when the result on stdout cannot be written in full.
 */
export function watchOutput(
  { stdout, stderr }: Record<'stdout' | 'stderr', NodeJS.WritableStream>,
  onFull: (code: ExitCode) => void,
): { readonly isFull: boolean } {
  let isFull = false;
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (isReaderGone(code) || isFull) return;
    isFull = true;
    stderr.write(plainText(`thrice: [store-unusable] stdout: cannot be written (${message})\n`));
    onFull(exitCodes.unavailable);
  });
  // There is nowhere left to report it.
  stderr.on('error', () => undefined);
  return {
    get isFull() {
      return isFull;
    },
  };
}

function isReaderGone(code: string | undefined): boolean {
  return code === 'EPIPE' || code === 'EIO';
}
