/** Our commands by the names that other tools have for them. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ['eval', 'run'],
  ['evaluate', 'run'],
  ['test', 'run'],
  ['start', 'run'],
  ['list', 'ls'],
  ['results', 'summarize'],
  ['export', 'summarize --csv'],
  ['view', 'summarize'],
  ['stop', 'cancel'],
  ['kill', 'cancel'],
  ['rm', 'delete'],
  ['remove', 'delete'],
  ['retry', 'rerun'],
  ['continue', 'resume'],
  ['check', 'doctor'],
  ['validate', 'doctor'],
]);
/** Our options by the names that other tools have for them. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['--concurrency', '--parallel'],
  ['--max-concurrency', '--parallel'],
  ['--max-connections', '--parallel'],
  ['--workers', '--parallel'],
  ['-j', '--parallel'],
  ['--repeat', '--replicates'],
  ['--epochs', '--replicates'],
  ['--filter-first-n', '--limit'],
  ['--max-samples', '--limit'],
  ['--model', '--configs'],
  ['--models', '--configs'],
  ['--budget', '--budget-usd'],
  ['--max-cost', '--budget-usd'],
  ['--cost-limit', '--budget-usd'],
  ['--wait', '--wait-for-quota'],
]);

const WEBHOOK =
  'write it into the spec: [notify] with webhook_env, the name of the variable that has the URL';

/** What to do where no name of ours stands for that of another tool. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['cache', 'there is none; thrice run --reuse GROUP takes the calls that a group has bought'],
  [
    '--no-cache',
    'there is no cache; only --reuse and share_calls = true take calls that are bought already',
  ],
  ['--pilot', 'it is an option of thrice estimate SPEC'],
  ['--dry-run', 'thrice estimate SPEC calls nothing; thrice doctor SPEC checks what a run needs'],
  ['--batch', 'it is a key of a lane: batch = true below [lanes.NAME]'],
  ['--env-file', '.env of the working folder is read without it'],
  ['--notify', WEBHOOK],
  ['--webhook', WEBHOOK],
  ['--output', 'redirect it, as in thrice summarize --csv > results.csv'],
  ['-o', 'redirect it, as in thrice summarize --csv > results.csv'],
]);

/** Where the values of arguments come from. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['spec', 'as in thrice run benchmark.toml; thrice init writes one to start from'],
  ['group', 'thrice ls lists all groups'],
  ['run', 'thrice ls lists all groups; their runs end in -r1, -r2, ...'],
  ['shell', 'bash, zsh or fish'],
]);

/** Adds to commander's message about a command line what is meant or missing, or where to look. */
export function describeUsage(message: string, argv: readonly string[] = []): string {
  const [, argument = ''] = /missing required argument '([^']+)/.exec(message) ?? [];
  const source =
    argument === 'spec' && argv.includes('--reuse')
      ? '--reuse takes all names after it: write the spec before it'
      : ARGUMENTS.get(argument);
  if (source !== undefined) return `${message.trimEnd()}\n(${source})\n`;
  const [, kind, name = ''] = /unknown (command|option) '([^'=]+)/.exec(message) ?? [];
  if (kind === undefined) return message;
  const elsewhere = ELSEWHERE.get(name);
  if (elsewhere !== undefined) return `${message.split('\n')[0] ?? ''}\n(${elsewhere})\n`;
  if (message.includes('Did you mean')) return message;
  const meant = (kind === 'command' ? COMMANDS : OPTIONS).get(name);
  const hint = meant === undefined ? 'see --help' : `Did you mean ${meant}?`;
  return `${message.trimEnd()}\n(${hint})\n`;
}
