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

/** Runs one command line on a terminal; every failure is reported there and becomes an exit code. */
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
  // Loaded only here: help and version need nothing of it.
  const { toThriceError } = await import('@thrice/core');
  const error = toThriceError(thrown);
  for (const line of error.message.split('\n')) print(plainText(`thrice: ${line}`));
  if (error.class === 'internal') print(plainText(describeBug(error)));
  return exitCodeOf(error);
}

function describeBug(error: ThriceError): string {
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  return `This is a bug in Thrice, not of your benchmark; nothing paid is lost. Please report:\n${stack ?? ''}`;
}

/** Commander has printed its message already. */
function isCommanderError(thrown: unknown): thrown is { readonly exitCode: number } {
  return thrown instanceof Error && thrown.name === 'CommanderError' && 'exitCode' in thrown;
}

/**
 * Keeps a command at work whatever becomes of those who read it: a reader that has seen enough
 * (`| head`) or a closed terminal is no failure, and a full disk under a log costs no paid answer.
 *
 * @param onFull - Told the exit code once, when the result on stdout cannot be written whole.
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
  // There is no place left to say it.
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
