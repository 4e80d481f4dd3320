// npm run cloud [-- OPTIONS]                       runs until Ctrl-C, prints the variables to export
// npm run -s cloud -- [OPTIONS] exec COMMAND ...   runs one command against it
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cloud, startCloud } from './cloud.ts';
import { type CloudOptions, parseOptions, USAGE } from './cloud-options.ts';
import { exitCodeOf } from './exit-code-of.ts';
import { synthesize } from './synthesize.ts';

const EXIT_USAGE = 64;
const EXIT_CANNOT_START = 69;
/** The exit code of shells for an unknown command. */
const EXIT_NO_COMMAND = 127;
const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Variables that would point an SDK away from the emulators. */
const conflictingVariables = ['AWS_PROFILE', 'AWS_SESSION_TOKEN', 'AWS_ENDPOINT_URL'];

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let options: CloudOptions;
  try {
    options = parseOptions(argv);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    report(USAGE);
    return EXIT_USAGE;
  }
  const stop = Promise.withResolvers<NodeJS.Signals>();
  // Registered before the start, so that a signal during it also stops everything in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop.resolve);
  try {
    await using cloud = await startCloud({
      root,
      synthesize: (folder) => stackOf(options, folder),
      logPath: options.logPath ?? join(tmpdir(), `thrice-cloud-${process.pid}.log`),
      machine: process.env,
      functionVariables: options.functionVariables,
      ...(options.tickSeconds !== undefined && { tickSeconds: options.tickSeconds }),
    });
    report(`cloud: function logs: ${cloud.logPath}`);
    if (options.command !== undefined) return await run(options.command, cloud, stop.promise);
    process.stdout.write(exportLines(cloud));
    report('cloud: running; press Ctrl-C to stop');
    await stop.promise;
    return 0;
  } catch (error) {
    report(`cloud: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return EXIT_CANNOT_START;
  }
}

async function stackOf({ stackPath }: CloudOptions, folder: string): Promise<unknown> {
  if (stackPath === undefined) return await synthesize(root, folder);
  return JSON.parse(await readFile(resolve(stackPath), 'utf8')) as unknown;
}

/** Runs a command to its end. Forwards a stop signal unless the terminal has already done so. */
async function run(
  [command, ...args]: readonly [string, ...string[]],
  cloud: Cloud,
  stopped: Promise<NodeJS.Signals>,
): Promise<number> {
  const env = { ...process.env, ...cloud.variables };
  for (const name of conflictingVariables) delete env[name];
  const child = spawn(command, args, { stdio: 'inherit', env });
  void stopped.then((signal) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
  try {
    return await exitCodeOf(child);
  } catch (error) {
    report(`cloud: ${command}: ${String(error)}`);
    return EXIT_NO_COMMAND;
  }
}

function exportLines({ variables }: Cloud): string {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`);
  return [`unset ${conflictingVariables.join(' ')}`, ...lines, ''].join('\n');
}

function report(text: string): void {
  process.stderr.write(`${text}\n`);
}
