import { parseArgs } from 'node:util';

export const USAGE = `usage: npm run cloud [-- OPTIONS]
       npm run -s cloud -- [OPTIONS] exec COMMAND [ARGUMENT ...]

  --tick-seconds N             seconds between two invocations of each schedule
  --function-env NAME=VALUE    set a variable for every function; may be repeated
  --log FILE                   write the functions' output to this file
  --stack FILE                 use this synthesized stack instead of the repository's`;

/** A parsed command line. */
export interface CloudOptions {
  readonly tickSeconds: number | undefined;
  readonly functionVariables: Readonly<Record<string, string>>;
  readonly logPath: string | undefined;
  readonly stackPath: string | undefined;
  /** Absent: run until stopped. */
  readonly command: readonly [string, ...string[]] | undefined;
}

/**
 * Parses a command line. Everything after `exec` belongs to the command.
 *
 * @param argv - Arguments without node and script.
 * @throws Error for an invalid command line.
 */
export function parseOptions(argv: readonly string[]): CloudOptions {
  const execAt = argv.indexOf('exec');
  const ownArguments = execAt === -1 ? argv : argv.slice(0, execAt);
  const { values } = parseArgs({
    args: [...ownArguments],
    options: {
      'tick-seconds': { type: 'string' },
      'function-env': { type: 'string', multiple: true, default: [] },
      log: { type: 'string' },
      stack: { type: 'string' },
    },
  });
  const tickSeconds = values['tick-seconds'];
  return {
    tickSeconds: tickSeconds === undefined ? undefined : parseSeconds(tickSeconds),
    functionVariables: Object.fromEntries(values['function-env'].map(parseVariable)),
    logPath: values.log,
    stackPath: values.stack,
    command: execAt === -1 ? undefined : parseCommand(argv.slice(execAt + 1)),
  };
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && Number.isFinite(seconds))) {
    throw new Error(`--tick-seconds: expected a number above 0, received ${text}`);
  }
  return seconds;
}

function parseVariable(text: string): readonly [string, string] {
  const equals = text.indexOf('=');
  if (equals < 1) throw new Error(`--function-env: expected NAME=VALUE, received ${text}`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function parseCommand([command, ...args]: readonly string[]): readonly [string, ...string[]] {
  if (command === undefined) throw new Error('exec: expected a command, received none');
  return [command, ...args];
}
