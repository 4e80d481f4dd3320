import { parseArgs } from 'node:util';
import { awsLimits } from './aws-limits.ts';
import { LONGEST_CALL_SECONDS } from './cell-protocol.ts';
import { concurrencyLeft, type Scenario, scenarioDefaults } from './scenario.ts';

export const USAGE = `usage: npm run -s capacity-model [-- OPTIONS]

Estimates runs of a production stage on AWS: how long they take, what they cost, and which quotas
they reach. Without --questions and --latency, prints the tables of docs/cloud.md.

  --questions N             questions of one run, 1..10000000; requires --latency
  --latency S               mean answer time in seconds, above 0, at most ${LONGEST_CALL_SECONDS}; requires --questions
  --concurrency N           maximumConcurrency of the lane, 2..${awsLimits.mappingConcurrency.value} [${scenarioDefaults.laneConcurrency}]
  --account-concurrency N   the account's Lambda concurrency quota [${scenarioDefaults.accountConcurrency}]
  --json                    print one JSON document instead of tables
  --update FILE             update the tables in this document, for example docs/cloud.md
  --help                    print this help`;

const MAX_QUESTIONS = 10_000_000;
const MIN_CONCURRENCY = 2;
const MAX_ACCOUNT_CONCURRENCY = 1_000_000;

/** A parsed command line. */
export type CapacityOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'update'; readonly path: string }
  | {
      readonly kind: 'print';
      readonly isJson: boolean;
      /** Absent: the runs of docs/cloud.md. */
      readonly run: Pick<Scenario, 'questions' | 'latencySeconds'> | undefined;
      readonly settings: Pick<Scenario, 'spread' | 'laneConcurrency' | 'accountConcurrency'>;
    };

/**
 * Parses a command line.
 *
 * @param argv - Arguments without node and script.
 * @throws Error with a one-line message for an invalid command line.
 */
export function parseCapacityOptions(argv: readonly string[]): CapacityOptions {
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
      throw new Error(
        '--update: expected no other option; the document always shows the default runs',
      );
    }
    return { kind: 'update', path: update };
  }
  if ((questions === undefined) !== (latency === undefined)) {
    throw new Error('expected both --questions and --latency, received only one');
  }
  return {
    kind: 'print',
    isJson: values.json,
    run:
      questions === undefined || latency === undefined
        ? undefined
        : { questions: parseQuestions(questions), latencySeconds: parseLatency(latency) },
    settings: {
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

/** The stack cannot be deployed with less than the other functions and lanes reserve. */
function parseAccountConcurrency(text: string | undefined): number {
  if (text === undefined) return scenarioDefaults.accountConcurrency;
  const reserved = -concurrencyLeft(0);
  return parseInteger(
    '--account-concurrency',
    text,
    reserved + MIN_CONCURRENCY,
    MAX_ACCOUNT_CONCURRENCY,
  );
}

function parseInteger(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${name}: expected an integer, ${min}..${max}, received ${text}`);
}
