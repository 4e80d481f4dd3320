import type { ThriceError } from '@thrice/core';
import { createProgram } from './program.ts';
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
    return await reportFailure(error, (text) => terminal.error(text));
  }
}

async function reportFailure(thrown: unknown, print: (text: string) => void): Promise<ExitCode> {
  if (isCommanderError(thrown)) return thrown.exitCode === 0 ? exitCodes.complete : exitCodes.usage;
  // Loaded on demand: --help and --version do not need it.
  const { toThriceError } = await import('@thrice/core');
  const error = toThriceError(thrown);
  for (const line of error.message.split('\n')) print(plainText(`thrice: ${line}`));
  if (error.class === 'internal') print(plainText(describeBug(error)));
  return exitCodeOf(error);
}

function describeBug(error: ThriceError): string {
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  return `This is a bug in Thrice, not in your benchmark. Please report it:\n${stack ?? ''}`;
}

/** Commander has already printed the message of its own errors. */
function isCommanderError(thrown: unknown): thrown is { readonly exitCode: number } {
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
    stderr.write(plainText(`thrice: stdout: cannot be written (${message})\n`));
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
