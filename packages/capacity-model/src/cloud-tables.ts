import { awsLimits } from './aws-limits.ts';
import { expectRun, meanDeliverySeconds, rampDelaySeconds, rampSeconds } from './expected-run.ts';
import {
  formatCount,
  formatDuration,
  formatPrice,
  formatRate,
  formatShare,
  formatTable,
  formatUsd,
} from './format-figures.ts';
import { costOfIdleMonth, costOfKeeping, type MonthlyLine } from './idle-month.ts';
import { prices, totalOf } from './prices.ts';
import { quotaRates } from './quotas.ts';
import { costOfRun } from './run-cost.ts';
import { type Scenario, scenarioDefaults } from './scenario.ts';
import { seededRandom } from './seeded-random.ts';
import { type Bite, type RunOutcome, simulateRun } from './simulate-run.ts';

/** Answers of a fast model, of a slow one, and of one that thinks long. */
const LATENCIES_SECONDS = [2, 30, 600] as const;
/** Sizes of the runs that docs/cloud.md shows. */
const QUESTION_COUNTS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000] as const;
/** A small stage, production, the most beside seven lanes of 64 in a default account, the most there is. */
const RAMP_CONCURRENCIES = [8, 64, 447, 1_000] as const;
const SEED = 1;
const PER_QUESTIONS = 1_000;
const KEPT_ANSWERS = 1_000_000;

/** A run that was simulated. */
export interface SimulatedRun {
  readonly scenario: Scenario;
  readonly outcome: RunOutcome;
}

/** Simulates a scenario; the same one gives the same outcome. */
export function simulate(scenario: Scenario): SimulatedRun {
  return { scenario, outcome: simulateRun(scenario, seededRandom(SEED)) };
}

/** The runs that docs/cloud.md shows. */
export function simulateAll(given: Partial<Scenario>): readonly SimulatedRun[] {
  return QUESTION_COUNTS.flatMap((questions) =>
    LATENCIES_SECONDS.map((latencySeconds) =>
      simulate({ ...scenarioDefaults, ...given, questions, latencySeconds }),
    ),
  );
}

/** Simulated runs, a row each. */
export function runTable(runs: readonly SimulatedRun[]): string {
  return formatTable(
    [
      { title: 'questions', isFigure: true },
      { title: 'answer', isFigure: true },
      { title: 'wall time', isFigure: true },
      { title: 'by formula', isFigure: true },
      { title: 'most at once', isFigure: true },
      { title: 'after', isFigure: true },
      { title: 'AWS bill', isFigure: true },
      { title: 'per 1,000', isFigure: true },
      { title: 'quotas reached, in this order' },
    ],
    runs.map(({ scenario, outcome }) => {
      const usd = totalOf(costOfRun(outcome.counts));
      return [
        formatCount(scenario.questions),
        formatDuration(scenario.latencySeconds),
        formatDuration(outcome.wallSeconds),
        formatDuration(expectRun(scenario).wallSeconds),
        formatCount(outcome.peakConcurrency),
        formatDuration(outcome.peakAtSeconds),
        formatUsd(usd),
        formatUsd((usd / scenario.questions) * PER_QUESTIONS),
        outcome.bites.map((bite) => describeBite(bite, outcome)).join(', '),
      ];
    }),
  );
}

function describeBite({ quota, atSeconds, count }: Bite, { counts }: RunOutcome): string {
  const at = formatDuration(atSeconds);
  switch (quota) {
    case 'lane-concurrency':
      return `lane (${at})`;
    case 'account-concurrency':
      return `account (${at})`;
    case 'partition-writes':
      return `partition writes (${at})`;
    case 'answer-timeout':
      return `answer timeout (${at}; ${formatShare(count / counts.deliveries)} of deliveries)`;
    case 'finalize-timeout':
      return `finalize timeout (${at})`;
    case 'message-retention':
      return `retention (${at}; ${formatCount(count)} messages)`;
  }
}

/** What 1,000 questions cost by formula: a column for each latency. */
export function costTable(scenarios: readonly Scenario[]): string {
  const bills = scenarios.map((scenario) =>
    costOfRun(expectRun({ ...scenario, questions: PER_QUESTIONS }).counts),
  );
  const lines = (bills[0] ?? []).map(({ price }, index) => [
    price.service,
    price.item,
    ...bills.map((bill) => formatUsd(bill[index]?.usd ?? 0)),
  ]);
  return formatTable(
    [
      { title: 'service' },
      { title: 'for' },
      ...scenarios.map(({ latencySeconds }) => ({
        title: formatDuration(latencySeconds),
        isFigure: true,
      })),
    ],
    [...lines, ['all', '', ...bills.map((bill) => formatUsd(totalOf(bill)))]],
  );
}

/** How a mapping gains its concurrency, and what a lane gets done before its messages expire. */
function rampTable(): string {
  const retentionSeconds = awsLimits.retentionSeconds.value;
  return formatTable(
    [
      { title: '`maximumConcurrency`', isFigure: true },
      { title: 'reached after', isFigure: true },
      { title: 'simulated', isFigure: true },
      { title: 'a long run ends later by', isFigure: true },
      ...LATENCIES_SECONDS.map((latency) => ({
        title: `in 7 d at ${formatDuration(latency)}`,
        isFigure: true,
      })),
    ],
    RAMP_CONCURRENCIES.map((laneConcurrency) => {
      // Enough quota and questions, so that nothing but the ramp is seen.
      const scenario = {
        ...scenarioDefaults,
        laneConcurrency,
        accountConcurrency: 10 * awsLimits.accountConcurrency.value,
        questions: 20_000,
        latencySeconds: 30,
      };
      return [
        formatCount(laneConcurrency),
        formatDuration(rampSeconds(laneConcurrency)),
        formatDuration(simulate(scenario).outcome.peakAtSeconds),
        formatDuration(rampDelaySeconds(laneConcurrency)),
        ...LATENCIES_SECONDS.map((latencySeconds) => {
          const seconds = secondsPerAnswer({ ...scenario, latencySeconds });
          return formatRate((laneConcurrency * retentionSeconds) / seconds);
        }),
      ];
    }),
  );
}

/** Time in the function for each answer, the deliveries that gave none among it, s. */
function secondsPerAnswer(scenario: Scenario): number {
  const { deliveries, answered } = expectRun({ ...scenario, questions: PER_QUESTIONS }).counts;
  return (meanDeliverySeconds(scenario) * deliveries) / answered;
}

/** The answers a second that each quota allows one run, the tightest of the shortest answers first. */
function quotaTable(given: Partial<Scenario>): string {
  const byLatency = LATENCIES_SECONDS.map((latencySeconds) =>
    quotaRates({ ...scenarioDefaults, ...given, questions: 1, latencySeconds }),
  );
  return formatTable(
    [
      { title: 'quota' },
      { title: 'limit', isFigure: true },
      ...LATENCIES_SECONDS.map((latency) => ({
        title: `answers/s at ${formatDuration(latency)}`,
        isFigure: true,
      })),
    ],
    (byLatency[0] ?? []).map(({ name, limit, source }) => [
      source === undefined ? name : `[${name}](${source})`,
      formatCount(limit),
      ...byLatency.map((rates) => {
        const same = rates.find((rate) => rate.name === name);
        return same === undefined ? '' : formatRate(same.answersPerSecond);
      }),
    ]),
  );
}

function monthlyTable(lines: readonly MonthlyLine[]): string {
  return formatTable(
    [
      { title: 'service' },
      { title: 'for' },
      { title: 'quantity', isFigure: true },
      { title: 'a month', isFigure: true },
    ],
    [
      ...lines.map(({ cause, line: { price, quantity, usd } }) => [
        price.service,
        cause,
        `${formatRate(quantity)} ${price.unit === 'GB' ? 'GB' : `${price.unit}s`}`,
        formatUsd(usd),
      ]),
      ['all', '', '', formatUsd(totalOf(lines.map(({ line }) => line)))],
    ],
  );
}

/** Every price with where it was read. */
function priceTable(): string {
  return formatTable(
    [
      { title: 'service' },
      { title: 'for' },
      { title: 'USD', isFigure: true },
      { title: 'vendor' },
      { title: 'read in' },
      { title: 'as of' },
    ],
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

/**
 * Every table of docs/cloud.md by its name there.
 *
 * @param given - What differs from production as it is.
 * @param runs - The runs to show. @default all, simulated now
 */
export function documentTables(
  given: Partial<Scenario> = {},
  runs: readonly SimulatedRun[] = simulateAll(given),
): Readonly<Record<string, string>> {
  const scenarios = LATENCIES_SECONDS.map((latencySeconds) => ({
    ...scenarioDefaults,
    ...given,
    latencySeconds,
    questions: PER_QUESTIONS,
  }));
  return {
    cost: costTable(scenarios),
    runs: runTable(runs),
    ramp: rampTable(),
    quotas: quotaTable(given),
    idle: monthlyTable(costOfIdleMonth()),
    kept: monthlyTable(costOfKeeping(KEPT_ANSWERS)),
    prices: priceTable(),
  };
}
