import { Command, InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from './shell/exit-codes.ts';
import type { Terminal } from './shell/terminal.ts';
import { toolVersion } from './shell/tool-version.ts';

/** A command's code, loaded when it is called: `--help` loads none. */
type CommandRunner = (terminal: Terminal, ...args: never[]) => Promise<ExitCode>;

const folderOption = ['--dir <folder>', 'where runs and results are kept', '.thrice'] as const;
const stageOption = ['--stage <name>', 'a deployed SST stage instead of this machine'] as const;
const jsonOption = ['--json', 'print one JSON document on stdout and nothing else there'] as const;

/**
 * The command line.
 *
 * @param onExit - Told the exit code of the command that ran.
 */
export function createProgram(terminal: Terminal, onExit: (code: ExitCode) => void): Command {
  const program = new Command('thrice')
    .description(
      'Runs LLM benchmarks: every cell answered once, every call paid once, every number recomputable.',
    )
    .version(toolVersion)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.error(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'thrice: ')),
    });
  /** Runs a lazily loaded command with its arguments, as commander hands them over. */
  const run =
    <Runner extends CommandRunner>(load: () => Promise<Runner>) =>
    async (...args: unknown[]): Promise<void> => {
      const runner = await load();
      // The last argument is commander's own command object.
      onExit(await runner(terminal, ...(args.slice(0, -1) as never[])));
    };
  addRunCommands(program, run);
  addLookCommands(program, run);
  addDlqCommands(program, run);
  addCopyCommands(program, run);
  addToolCommands(program, run);
  return program;
}

type Run = <Runner extends CommandRunner>(
  load: () => Promise<Runner>,
) => (...args: unknown[]) => Promise<void>;

function addRunCommands(program: Command, run: Run): void {
  program
    .command('run')
    .description('plan and run a benchmark; prints its group first')
    .argument('<spec>', 'benchmark spec, TOML or JSON')
    .option('--label <label>', "what the group is called by (default: the benchmark's name)")
    .option('--replicates <n>', 'independent repetitions of the grid', wholeNumberTo(1000))
    .option('--configs <names>', 'only these configs, separated by commas', nameList)
    .option('--limit <n>', 'only the first questions', wholeNumberTo(999_999_999))
    .option('--parallel <n>', 'cells in flight', wholeNumberTo(10_000))
    .option('--skip-missing-keys', 'leave out configs whose key is not set')
    .option('--wait-for-quota', 'wait for exhausted lanes instead of pausing')
    .option('--detach', 'go on in the background and return')
    .option(...stageOption)
    .addOption(
      new Option('--budget-usd <usd>', 'hard cap for the group').argParser(() => {
        throw new InvalidArgumentError('Not supported by this version.');
      }),
    )
    .option(...folderOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/run.ts')).runBenchmark));
  program
    .command('resume')
    .description('go on where a group stopped, whatever stopped it')
    .argument('<group>', 'group, its unique prefix, or its label')
    .option('--parallel <n>', 'cells in flight', wholeNumberTo(10_000))
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/resume.ts')).resumeGroup));
  program
    .command('work', { hidden: true })
    .argument('<group>')
    .option(...folderOption)
    .action(run(async () => (await import('./commands/resume.ts')).workOnGroup));
  program
    .command('rerun')
    .description('run the cells without a score again; results join the same run')
    .argument('<run>', 'run, or a group for all of its runs')
    .requiredOption('--failed', 'the cells that ended without a score')
    .option('--configs <names>', 'only these configs, separated by commas', nameList)
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/rerun.ts')).rerunRun));
  program
    .command('cancel')
    .description('stop every process that works on a group; resume goes on')
    .argument('<group>', 'group, its unique prefix, or its label')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/cancel.ts')).cancelGroup));
}

function addLookCommands(program: Command, run: Run): void {
  program
    .command('status')
    .description('counts, spend, rate and lanes of a group (default: the newest)')
    .argument('[group]', 'group, its unique prefix, or its label')
    .option('--watch', 'keep showing it until the group is done')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/status.ts')).showStatus));
  program
    .command('ls')
    .description('all groups, newest first')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/ls.ts')).listGroups));
  program
    .command('show')
    .description('one cell: prompt, calls, answer, grading, error history')
    .argument('<run>', 'run')
    .argument('<config>', 'config')
    .argument('<id>', 'question id')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/show.ts')).showCell));
  program
    .command('summarize')
    .description('the table over replicates')
    .argument('[group]', 'group, its unique prefix, or its label')
    .option('--latest', 'the newest group')
    .option('--md', 'as Markdown')
    .option('--csv', 'as CSV')
    .option('--by <tag>', 'one more table by the values of a tag')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/summarize.ts')).summarizeGroup));
  program
    .command('verify')
    .description('recompute every published number of a group from its cells')
    .argument('<group>', 'group, its unique prefix, or its label')
    .option(...folderOption)
    .option(...stageOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/verify.ts')).verifyGroup));
}

function addDlqCommands(program: Command, run: Run): void {
  const dlq = program.command('dlq').description('the DLQ of a stage: the cells that failed');
  const add = (name: string, description: string) =>
    dlq
      .command(name)
      .description(description)
      .option('--stage <name>', 'the SST stage')
      .option('--run <run>', 'only of this run, or of a group for all of its runs')
      .option('--config <name>', 'only of this config')
      .option('--class <class>', 'only of errors of this class')
      .option(...jsonOption);
  const load = () => import('./commands/dlq.ts');
  add('ls', 'a line for each cell').action(run(async () => (await load()).dlqLs));
  add('show', 'the letters in full').action(run(async () => (await load()).dlqShow));
  add('replay', 'send their cells again').action(run(async () => (await load()).dlqReplay));
  add('drop', 'delete them').action(run(async () => (await load()).dlqDrop));
}

function addCopyCommands(program: Command, run: Run): void {
  program
    .command('pull')
    .description('copy a group from a stage to this machine; again for what is new')
    .argument('<group>', 'group, its unique prefix, or its label')
    .requiredOption('--stage <name>', 'the deployed SST stage to copy from')
    .option(...folderOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/pull.ts')).pullGroup));
  program
    .command('push')
    .description('copy a group from this machine to a stage; again for what is new')
    .argument('<group>', 'group, its unique prefix, or its label')
    .requiredOption('--stage <name>', 'the deployed SST stage to copy to')
    .option(...folderOption)
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/push.ts')).pushGroup));
}

function addToolCommands(program: Command, run: Run): void {
  program
    .command('doctor')
    .description('check spec, questions, keys, endpoints and models before a cent is spent')
    .argument('<spec>', 'benchmark spec, TOML or JSON')
    .option(...jsonOption)
    .action(run(async () => (await import('./commands/doctor.ts')).checkBenchmark));
  program
    .command('simulate')
    .description(
      'an OpenAI-compatible model server: recorded or simulated answers, faults on demand',
    )
    .option('--replay <path>', 'recorded answers: JSONL, or a folder of BIG-Bench Hard recordings')
    .option('--behaviour <file>', 'simulated models, JSON')
    .option('--questions <file>', 'questions the simulated models know, JSONL or JSON')
    .option('--faults <file>', 'what goes wrong and when, JSON')
    .option('--port <n>', 'port to listen on, 0 for a free one', portNumber, 0)
    .option('--log <file>', 'one JSON line for each request')
    .action(run(async () => (await import('./commands/simulate.ts')).simulate));
  program
    .command('schema')
    .description('the JSON Schema of a benchmark spec')
    .action(run(async () => (await import('./commands/schema.ts')).printSchema));
}

/** Parses a whole number from 1; its maximum is the spec's for the same thing. */
function wholeNumberTo(maximum: number): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= maximum) return Number(text);
    throw new InvalidArgumentError(`Expected a whole number, 1..${maximum}.`);
  };
}

function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('Expected a port, 0..65535.');
}

function nameList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '')) return names;
  throw new InvalidArgumentError('Expected names separated by commas.');
}
