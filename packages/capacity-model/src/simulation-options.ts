import { parseArgs } from 'node:util';
import { awsLimits } from './aws-limits.ts';
import { LONGEST_CALL_SECONDS } from './cell-protocol.ts';
import { concurrencyLeft, type Scenario, scenarioDefaults } from './scenario.ts';

export const USAGE = `usage: npm run -s capacity-model [-- OPTIONS]

Simulates runs of a production stage on AWS: how long they take, what they cost, which quotas they
reach. Without --questions and --latency: the runs that docs/cloud.md shows.

  --questions N             questions of one run, 1..10000000; with --latency
  --latency S               mean seconds of an answer, above 0, at most ${LONGEST_CALL_SECONDS}; with --questions
  --concurrency N           maximumConcurrency of the lane, 2..${awsLimits.mappingConcurrency.value} [${scenarioDefaults.laneConcurrency}]
  --account-concurrency N   Lambda's quota of the account [${scenarioDefaults.accountConcurrency}]
  --json                    one JSON document instead of tables
  --update FILE             writes the tables of this document anew, for example docs/cloud.md
  --help                    this text`;

const MAX_QUESTIONS = 10_000_000;
const MIN_CONCURRENCY = 2;
const MAX_ACCOUNT_CONCURRENCY = 1_000_000;

/** What the command line asks for. */
export type SimulationOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'update'; readonly path: string }
  | {
      readonly kind: 'simulate';
      readonly isJson: boolean;
      /** Absent: all of them. */
      readonly run: Pick<Scenario, 'questions' | 'latencySeconds'> | undefined;
      readonly given: Pick<Scenario, 'spread' | 'laneConcurrency' | 'accountConcurrency'>;
    };

/**
 * Parses a command line.
 *
 * @param argv - Arguments without node and script.
 * @throws Error when it is not understood; its message is one line.
 */
export function parseSimulationOptions(argv: readonly string[]): SimulationOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      questions: { type: 'string' },
      latency: { type: 'string' },
      concurrency: { type: 'string' },
      'account-concurrency': { type: 'string' },
      json: { type: 'boolean', default: false },
      update: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { questions, latency, update } = values;
  if (values.help) return { kind: 'help' };
  if (update !== undefined) {
    if (argv.filter((argument) => argument.startsWith('--')).length > 1) {
      throw new Error('--update: expected no other option, the document shows the default runs');
    }
    return { kind: 'update', path: update };
  }
  if ((questions === undefined) !== (latency === undefined)) {
    throw new Error('expected --questions and --latency together, received one of them');
  }
  return {
    kind: 'simulate',
    isJson: values.json,
    run:
      questions === undefined || latency === undefined
        ? undefined
        : { questions: parseQuestions(questions), latencySeconds: parseLatency(latency) },
    given: {
      spread: scenarioDefaults.spread,
      laneConcurrency: parseConcurrency(values.concurrency),
      accountConcurrency: parseAccountConcurrency(values['account-concurrency']),
    },
  };
}

function parseQuestions(text: string): number {
  return parseInteger('--questions', text, 1, MAX_QUESTIONS);
}

function parseLatency(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && seconds > 0 && seconds <= LONGEST_CALL_SECONDS) return seconds;
  const expected = `seconds above 0, at most ${LONGEST_CALL_SECONDS}`;
  throw new Error(`--latency: expected ${expected}, received ${text}`);
}

function parseConcurrency(text: string | undefined): number {
  if (text === undefined) return scenarioDefaults.laneConcurrency;
  return parseInteger('--concurrency', text, MIN_CONCURRENCY, awsLimits.mappingConcurrency.value);
}

/** Below what the other functions and lanes have reserved, the stack cannot be deployed at all. */
function parseAccountConcurrency(text: string | undefined): number {
  if (text === undefined) return scenarioDefaults.accountConcurrency;
  const taken = -concurrencyLeft(0);
  return parseInteger(
    '--account-concurrency',
    text,
    taken + MIN_CONCURRENCY,
    MAX_ACCOUNT_CONCURRENCY,
  );
}

function parseInteger(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${name}: expected an integer, ${min}..${max}, received ${text}`);
}
