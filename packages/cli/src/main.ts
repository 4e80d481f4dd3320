import type { ThriceError } from '@thrice/core';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';
import { createProgram } from './program.ts';
import { processTerminal, type Terminal } from './terminal.ts';

/**
 * Runs one command line and sets the process's exit code.
 *
 * @param argv - Arguments without node and script.
 */
export async function main(argv: readonly string[]): Promise<void> {
  ignoreClosedPipes();
  process.exitCode = await runCommand(argv, processTerminal(process));
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
  for (const line of error.message.split('\n')) print(`thrice: ${line}`);
  if (error.class === 'defect') print(describeDefect(error));
  return exitCodeOf(error);
}

function describeDefect(error: ThriceError): string {
  const stack = error.cause instanceof Error ? error.cause.stack : error.stack;
  return `This is a defect of Thrice, not of your benchmark; nothing paid is lost. Please report:\n${stack ?? ''}`;
}

/** Commander has printed its message already. */
function isCommanderError(thrown: unknown): thrown is { readonly exitCode: number } {
  return thrown instanceof Error && thrown.name === 'CommanderError' && 'exitCode' in thrown;
}

/** A reader that has seen enough (`| head`) is no failure. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}
