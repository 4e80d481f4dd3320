import { expectBatchedRun } from './batch-cost.ts';
import { expectRun, scenarioDefaults } from './expect-run.ts';
import {
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatTable,
  formatUsd,
} from './format-figures.ts';
import { expectBudget, expectSlots, type ItemCost } from './item-cost.ts';
import { playRun, seededRandom } from './play-run.ts';
import { type CostLine, prices, totalOf } from './prices.ts';
import { quotaRates } from './quotas.ts';
import { costOfIdleMonth, costOfRun, costOfStorage } from './run-cost.ts';

/** Mean answer times: a fast model, a slow one, and one that reasons for long. */
const LATENCIES_SECONDS = [2, 30, 600] as const;
const QUESTION_COUNTS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000] as const;
/** The largest run that is played through: beyond it, the formulas and the play agree. */
const MOST_PLAYED = 100_000;
const CELLS_PER_INVOCATION = [1, 2, 5, 10] as const;
const IN_FLIGHT_COUNTS = [8, 64, 256, 512] as const;
const STORED_ANSWERS = 1_000_000;
/** Usual benchmarks, each on one lane; `questions` counts cells. */
const EXAMPLES = [
  {
    what: 'BIG-Bench Hard with a fast model: 6,511 questions, answers of 2 s',
    questions: 6_511,
    latencySeconds: 2,
  },
  {
    what: 'GPQA Diamond with three models, three replicates: 198 questions, answers of 30 s',
    questions: 198 * 3 * 3,
    latencySeconds: 30,
  },
  {
    what: "Humanity's Last Exam with a reasoning model, three replicates: 2,500 questions, answers of 5 minutes",
    questions: 2_500 * 3,
    latencySeconds: 300,
  },
] as const;
const SEED = 1;

/** The tables of docs/cloud.md by name. */
export function documentTables(): Readonly<Record<string, string>> {
  return {
    examples: exampleTable(),
    cost: costTable(),
    batches: batchTable(),
    budgets: itemTable(expectBudget),
    slots: itemTable(expectSlots),
    runs: runTable(
      QUESTION_COUNTS.flatMap((questions) =>
        LATENCIES_SECONDS.map((latencySeconds) => ({ questions, latencySeconds })),
      ),
    ),
    quotas: quotaTable(),
    idle: monthlyTable(costOfIdleMonth()),
    storage: monthlyTable(costOfStorage(STORED_ANSWERS)),
    prices: priceTable(),
  };
}

/** What users run, how long it takes and what AWS bills. */
function exampleTable(): string {
  return formatTable(
    ['run', '>cells', '>takes', '>AWS bill'],
    EXAMPLES.map(({ what, questions, latencySeconds }) => {
      const scenario = { ...scenarioDefaults, questions, latencySeconds };
      const { wallSeconds } = playRun(scenario, seededRandom(SEED));
      return [
        what,
        formatCount(questions),
        formatDuration(wallSeconds),
        formatUsd(totalOf(costOfRun(expectRun(scenario).counts))),
      ];
    }),
  );
}

/** How long runs take and what they cost, one row each. */
export function runTable(
  runs: readonly {
    readonly questions: number;
    readonly latencySeconds: number;
    readonly laneConcurrency?: number;
  }[],
): string {
  return formatTable(
    ['>questions', '>answer time', '>wall time', '>played through', '>AWS bill', '>per 1,000'],
    runs.map((settings) => {
      const scenario = { ...scenarioDefaults, ...settings };
      const { questions, latencySeconds } = scenario;
      const { wallSeconds, counts } = expectRun(scenario);
      const usd = totalOf(costOfRun(counts));
      const played = questions > MOST_PLAYED ? undefined : playRun(scenario, seededRandom(SEED));
      return [
        formatCount(questions),
        formatDuration(latencySeconds),
        formatDuration(wallSeconds),
        played === undefined ? '' : formatDuration(played.wallSeconds),
        formatUsd(usd),
        formatUsd((usd / questions) * 1_000),
      ];
    }),
  );
}

/** The cost of 1,000 questions, one column per latency. */
function costTable(): string {
  const bills = LATENCIES_SECONDS.map((latencySeconds) =>
    costOfRun(expectRun({ ...scenarioDefaults, questions: 1_000, latencySeconds }).counts),
  );
  const lines = (bills[0] ?? []).map(({ price, cause }, index) => [
    price.service,
    cause,
    ...bills.map((bill) => formatUsd(bill[index]?.usd ?? 0)),
  ]);
  return formatTable(
    ['service', 'for', ...latencyTitles('')],
    [...lines, ['total', '', ...bills.map((bill) => formatUsd(totalOf(bill)))]],
  );
}

/** The cost of 1,000 questions by cells per invocation, and the part of the lane that is in use. */
function batchTable(): string {
  return formatTable(
    ['>`cellsPerInvocation`', ...latencyTitles(''), '>slots in use'],
    CELLS_PER_INVOCATION.map((cells) => {
      const runs = LATENCIES_SECONDS.map((latencySeconds) =>
        expectBatchedRun({ ...scenarioDefaults, questions: 1_000, latencySeconds }, cells),
      );
      const inUse = runs.map(({ slotsInUseRatio }) => Math.round(100 * slotsInUseRatio));
      const range = [...new Set([Math.min(...inUse), Math.max(...inUse)])];
      return [
        formatCount(cells),
        ...runs.map(({ usd }) => formatUsd(usd)),
        range.map((percent) => `${percent}%`).join(' to '),
      ];
    }),
  );
}

/** What the writes to one item add to 1,000 answers, by calls in flight. */
function itemTable(expectCost: (inFlightCount: number) => ItemCost): string {
  return formatTable(
    ['>calls in flight', '>write units per answer', '>per 1,000 answers', '>answers/s at most'],
    IN_FLIGHT_COUNTS.map((count) => {
      const { writeUnits, usd, answersPerSecond } = expectCost(count);
      const perThousand = formatUsd(1_000 * usd);
      return [
        formatCount(count),
        formatCount(writeUnits),
        perThousand,
        formatRate(answersPerSecond),
      ];
    }),
  );
}

/** The answers per second that each quota allows one run, tightest at the shortest latency first. */
function quotaTable(): string {
  const [first = [], ...others] = LATENCIES_SECONDS.map((latencySeconds) =>
    quotaRates({ ...scenarioDefaults, questions: 1, latencySeconds }),
  );
  return formatTable(
    ['quota', '>limit', ...latencyTitles('answers/s at ')],
    first.map(({ name, limit, source, answersPerSecond }) => [
      source === undefined ? name : `[${name}](${source})`,
      formatCount(limit),
      formatRate(answersPerSecond),
      ...others.map((rates) =>
        formatRate(rates.find((rate) => rate.name === name)?.answersPerSecond ?? Number.NaN),
      ),
    ]),
  );
}

function monthlyTable(lines: readonly CostLine[]): string {
  return formatTable(
    ['service', 'for', '>quantity', '>per month'],
    [
      ...lines.map(({ price, cause, quantity, usd }) => [
        price.service,
        cause,
        `${formatRate(quantity)} ${price.unit === 'GB' ? 'GB' : `${price.unit}s`}`,
        formatUsd(usd),
      ]),
      ['total', '', '', formatUsd(totalOf(lines))],
    ],
  );
}

/** Every price and its source. */
function priceTable(): string {
  return formatTable(
    ['service', 'for', '>USD', 'vendor', 'source', 'as of'],
    Object.values(prices).map(({ service, item, usd, per, unit, page, readIn, asOf }) => [
      service,
      item,
      `${formatPrice(usd)} per ${per === 1 ? unit : `${formatCount(per)} ${unit}s`}`,
      `[page](${page})`,
      `[copy](${readIn})`,
      asOf,
    ]),
  );
}

function latencyTitles(before: string): readonly string[] {
  return LATENCIES_SECONDS.map((seconds) => `>${before}${formatDuration(seconds)}`);
}
