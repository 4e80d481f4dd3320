import { type CapacityOptions, parseCapacityOptions, USAGE } from './capacity-options.ts';
import {
  costTable,
  documentTables,
  type PlayedRun,
  playDocumentRuns,
  playScenario,
  runTable,
} from './cloud-tables.ts';
import { expectRun } from './expected-run.ts';
import { costOfIdleMonth } from './idle-month.ts';
import { type CostLine, totalOf } from './prices.ts';
import { costOfRun } from './run-cost.ts';
import { updateDocument } from './update-document.ts';

const EXIT_USAGE = 64;
const EXIT_UNAVAILABLE = 69;
const PER_QUESTIONS = 1_000;

/** The command's input and output. */
export interface CapacityIo {
  print(text: string): void;
  report(text: string): void;
  readFile(path: string): string;
  writeFile(path: string, text: string): void;
}

/**
 * `npm run capacity-model`.
 *
 * @param argv - Arguments without node and script.
 * @returns The exit code: 0, 64 for an invalid command line, 69 for a document that cannot be read or
 *   written.
 */
export function capacityCommand(argv: readonly string[], io: CapacityIo): number {
  let options: CapacityOptions;
  try {
    options = parseCapacityOptions(argv);
  } catch (error) {
    io.report(`capacity-model: ${messageOf(error)}`);
    return EXIT_USAGE;
  }
  switch (options.kind) {
    case 'help':
      io.print(USAGE);
      return 0;
    case 'update':
      return update(options.path, io);
    case 'print':
      io.print(render(options));
      return 0;
  }
}

function update(path: string, io: CapacityIo): number {
  try {
    io.writeFile(path, updateDocument(io.readFile(path), documentTables()));
    return 0;
  } catch (error) {
    io.report(`capacity-model: ${path}: ${messageOf(error)}`);
    return EXIT_UNAVAILABLE;
  }
}

function render({
  isJson,
  run,
  settings,
}: Extract<CapacityOptions, { readonly kind: 'print' }>): string {
  if (run !== undefined) {
    const scenario = { ...settings, ...run };
    const runs = [playScenario(scenario)];
    if (isJson) return toJson(runs);
    return `${runTable(runs)}\n\n1,000 questions by formula:\n\n${costTable([scenario])}`;
  }
  const runs = playDocumentRuns(settings);
  if (isJson) return toJson(runs);
  return Object.entries(documentTables(settings, runs))
    .map(([name, table]) => `${name}\n\n${table}`)
    .join('\n\n');
}

function toJson(runs: readonly PlayedRun[]): string {
  const idle = costOfIdleMonth().map(({ cause, line }) => ({ cause, ...describeLine(line) }));
  const document = {
    schemaVersion: 1,
    runs: runs.map(describeRun),
    idleMonth: { lines: idle, usd: idle.reduce((sum, { usd }) => sum + usd, 0) },
  };
  return JSON.stringify(document, null, 2);
}

function describeRun({ scenario, outcome }: PlayedRun): object {
  const lines = costOfRun(outcome.counts);
  const expected = expectRun(scenario);
  const usd = totalOf(lines);
  return {
    scenario,
    ...outcome,
    cost: {
      lines: lines.map(describeLine),
      usd,
      usdPer1000: (usd / scenario.questions) * PER_QUESTIONS,
    },
    formula: {
      wallSeconds: expected.wallSeconds,
      usd: totalOf(costOfRun(expected.counts)),
    },
  };
}

function describeLine({ price, quantity, usd }: CostLine): {
  readonly service: string;
  readonly item: string;
  readonly unit: string;
  readonly quantity: number;
  readonly usd: number;
} {
  return { service: price.service, item: price.item, unit: price.unit, quantity, usd };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
