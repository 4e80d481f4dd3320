import type { Benchmark, Config } from '../domain/benchmark.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { totalKnown } from '../domain/known-sum.ts';
import type { PromptSizes } from '../domain/prompt-sizes.ts';
import { billedTierOf } from '../pricing/price-usage.ts';
import { withGradeConfigs } from '../publish/graded-group.ts';
import type { BoughtCalls } from './count-bought.ts';
import { addEstimates, between, type Estimate, type Estimated, UNKNOWN } from './estimate.ts';
import { estimateConfig, type Pilot, type PlannedConfig } from './estimate-config.ts';
import { estimateSeconds, type TimedConfig } from './estimate-seconds.ts';

/** A plan to estimate. */
export interface EstimatedPlan {
  readonly benchmark: Benchmark;
  /** The cells of each config in one run; those of a skipped config are left out. */
  readonly cellCounts: ReadonlyMap<string, number>;
  readonly promptSizes: ReadonlyMap<string, PromptSizes>;
  /** The cells of a pilot by config. @default none */
  readonly pilot?: ReadonlyMap<string, Pilot> | undefined;
  /** What the cells buy where they take calls from others, by config. @default they take none */
  readonly bought?: ReadonlyMap<string, BoughtCalls> | undefined;
  /** Where the calls are made: on one machine, whose limits are known, or in a stage. @default this machine */
  readonly isOnStage?: boolean;
}

/** Estimates what a plan will take. */
export function estimatePlan(plan: EstimatedPlan): Estimate {
  const { benchmark } = plan;
  const timed = withGradeConfigs(benchmark.configs).flatMap((config) => {
    const planned = plannedConfig(config, plan);
    const lane = benchmark.lanes.get(config.lane);
    if (planned === undefined || lane === undefined) return [];
    return [
      { lane, cells: planned.cells, estimate: estimateConfig(planned), pilot: planned.pilot },
    ];
  });
  const configs = timed.map(({ estimate }) => estimate);
  const answering = configs.filter(({ grades }) => grades === null);
  const total = (name: 'calls' | 'inputTokens' | 'outputTokens' | 'costUsd') =>
    addEstimates(configs.map((config) => config[name]));
  return {
    cells: answering.reduce((sum, { cells }) => sum + cells, 0),
    reusedCells: configs.reduce((sum, { reusedCells }) => sum + reusedCells, 0),
    sharedCells: configs.reduce((sum, { sharedCells }) => sum + sharedCells, 0),
    calls: total('calls'),
    inputTokens: total('inputTokens'),
    inputTokenBound: totalKnown(configs.map(({ inputTokenBound }) => inputTokenBound)),
    outputTokens: total('outputTokens'),
    costUsd: total('costUsd'),
    seconds: plan.isOnStage === true ? UNKNOWN : estimateTime(timed, benchmark.parallel),
    configs,
    assumptions: describeAssumptions(
      timed.some(({ pilot }) => pilot !== undefined),
      benchmark,
    ),
  };
}

/** Judges work beside the models, but at most after the last answer. */
function estimateTime(timed: readonly TimedConfig[], parallel: number): Estimated {
  const [judges, answering] = [true, false].map((isJudge) =>
    timed.filter(({ estimate }) => (estimate.grades !== null) === isJudge),
  );
  const { expected, lower } = estimateSeconds(timed, parallel);
  const uppers = [judges, answering].map((part) => estimateSeconds(part ?? [], parallel).upper);
  return { expected, lower, upper: totalKnown(uppers) };
}

/** Undefined for a config without cells. */
function plannedConfig(
  config: Config,
  { benchmark, cellCounts, promptSizes, pilot, bought: boughtCalls }: EstimatedPlan,
): PlannedConfig | undefined {
  const answering = config.grades ?? config.name;
  const count = cellCounts.get(answering) ?? 0;
  const prompts = promptSizes.get(answering);
  if (count === 0 || prompts === undefined) return undefined;
  const bought = boughtCalls?.get(config.name);
  const { reusedCells, sharedCells } = bought ?? { reusedCells: 0, sharedCells: 0 };
  return {
    config: { ...config, serviceTier: billedTierOf(config, benchmark.lanes.get(config.lane)) },
    cells: count * benchmark.replicates - reusedCells - sharedCells,
    reusedCells,
    sharedCells,
    // What is left to buy may be only what depends on answers.
    prompts: bought !== undefined && bought.prompts.prompts > 0 ? bought.prompts : prompts,
    calls: bought && between(bought.fewestCalls, bought.mostCalls),
    price: benchmark.prices.get(modelRefOf(config)),
    pilot: pilot?.get(config.name),
  };
}

function describeAssumptions(
  hasPilot: boolean,
  { sharesCalls }: Pick<Benchmark, 'sharesCalls'>,
): Estimate['assumptions'] {
  if (hasPilot) {
    const sample =
      'all cells are like those of the pilot, the first of each config, discarded calls included; 95 % t interval, added up over configs, none where fewer than ten cells took the same';
    return {
      calls: sample,
      inputTokens: `${sample}; in proportion to the size of the prompts`,
      outputTokens: sample,
      costUsd: sample,
      seconds: `${sample}; calls take as long as in the pilot however many are in flight, and no limit is met but those of the spec`,
    };
  }
  return {
    calls: `one call per cell, or as few and as many as its solver makes; none of them retried${sharesCalls ? '; those that configs share are bought by the first of them' : ''}`,
    inputTokens:
      'a token of 4 bytes, 2 to 6: plain English has long tokens, code and other scripts have short ones',
    outputTokens: 'no more than max_tokens per call; how much of it is used, only a pilot shows',
    costUsd:
      'from the fewest input tokens, all cached, without an answer, to the most of both, none cached, none retried',
    seconds:
      'calls take at most their time limit, and batches a day each; as many are in flight as the spec allows, and no other limit is met',
  };
}
