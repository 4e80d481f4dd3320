import type { Lane } from '../domain/benchmark.ts';
import { predictedTotal } from '../statistics/predicted-total.ts';
import { addEstimates, type ConfigEstimate, type Estimated } from './estimate.ts';
import type { Pilot } from './estimate-config.ts';

const SECONDS_PER_MINUTE = 60;
/**
 * What a batch takes at most: https://platform.openai.com/docs/guides/batch and
 * https://docs.anthropic.com/en/docs/build-with-claude/batch-processing (2026-11) promise 24 hours.
 */
const SECONDS_PER_BATCH = 86_400;

/** The cells of one config, for the time that they take. */
export interface TimedConfig {
  readonly lane: Lane;
  /** Those that buy their calls. */
  readonly cells: number;
  readonly estimate: ConfigEstimate;
  readonly pilot: Pilot | undefined;
}

/** How long the calls of a config take one after the other, and the longest of them. */
interface Work {
  readonly lane: Lane;
  readonly cells: number;
  readonly estimate: ConfigEstimate;
  readonly busy: Estimated;
  readonly call: Estimated;
}

/**
 * Estimates the time of a plan on one machine, under its known limits: calls in flight of the machine and of each
 * lane, and calls and tokens per minute of each lane.
 *
 * A call takes what it took in the pilot, or else at most its time limit, or the time that vendors may take for a batch.
 *
 * @param parallel - Cells in flight.
 */
export function estimateSeconds(configs: readonly TimedConfig[], parallel: number): Estimated {
  const works = configs.filter(({ cells }) => cells > 0).map(toWork);
  if (works.length === 0) return { expected: 0, lower: 0, upper: 0 };
  // The cells of a batch wait together, and no limit of calls holds them back.
  const batched = works.filter(({ lane }) => lane.batch !== undefined);
  const live = works.filter(({ lane }) => lane.batch === undefined);
  const bounds = [
    ...batched.map(({ call }) => call),
    ...(live.length === 0 ? [] : [timeWith(live, parallel)]),
    ...[...Map.groupBy(live, ({ lane }) => lane.name).values()].flatMap((own) => {
      const [first] = own;
      return first === undefined ? [] : laneTimes(first.lane, own, parallel);
    }),
  ];
  const longest = (pick: (time: Estimated) => number | null) =>
    bounds.reduce<number | null>((most, time) => {
      const seconds = pick(time);
      return most === null || seconds === null ? null : Math.max(most, seconds);
    }, 0);
  return {
    expected: longest(({ expected }) => expected),
    lower: Math.max(...bounds.map(({ lower }) => lower ?? 0)),
    upper: longest(({ upper }) => upper),
  };
}

function toWork({ lane, cells, estimate, pilot }: TimedConfig): Work {
  if (pilot !== undefined) {
    const busy = predictedTotal(
      pilot.cells.map(({ seconds }) => seconds),
      cells,
    );
    const slowest = Math.max(...pilot.cells.map(({ seconds }) => seconds));
    return { lane, cells, estimate, busy, call: { expected: slowest, lower: 0, upper: slowest } };
  }
  const calls = estimate.calls.upper;
  if (lane.batch !== undefined) {
    // The next call of a cell goes into the next batch.
    const upper = calls === null ? null : Math.ceil(calls / cells) * SECONDS_PER_BATCH;
    const time = { expected: null, lower: 0, upper };
    return { lane, cells, estimate, busy: time, call: time };
  }
  const limit = lane.timeoutMs / 1_000;
  const busy = { expected: null, lower: 0, upper: calls === null ? null : calls * limit };
  return { lane, cells, estimate, busy, call: { expected: null, lower: 0, upper: limit } };
}

/** All calls, so many at a time: the last of them begins when the others leave it a place. */
function timeWith(works: readonly Work[], places: number): Estimated {
  const total = (pick: (amount: Estimated) => number | null) => {
    const busy = works.map((work) => pick(work.busy));
    const call = works.map((work) => pick(work.call));
    if (busy.includes(null) || call.includes(null)) return null;
    const sum = busy.reduce<number>((all, seconds) => all + (seconds ?? 0), 0);
    return Math.max(sum / places, ...call.map((seconds) => seconds ?? 0));
  };
  return {
    expected: total(({ expected }) => expected),
    lower: total(({ lower }) => lower),
    // Calls that take equally long come in whole rounds.
    upper: addOne(
      total(({ upper }) => upper),
      works,
      places,
    ),
  };
}

function addOne(seconds: number | null, works: readonly Work[], places: number): number | null {
  const slowest = Math.max(...works.map(({ call }) => call.upper ?? 0));
  const count = works.reduce((sum, { cells }) => sum + cells, 0);
  return seconds === null || count <= places ? seconds : seconds + slowest;
}

/** What each limit of a lane makes of its calls. */
function laneTimes(lane: Lane, works: readonly Work[], parallel: number): readonly Estimated[] {
  const estimates = works.map(({ estimate }) => estimate);
  const { maxConcurrency = parallel, requestsPerMinute, tokensPerMinute } = lane;
  const calls = estimates.map((config) => config.calls);
  const tokens = estimates.flatMap(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]);
  return [
    timeWith(works, Math.min(parallel, maxConcurrency)),
    ...(requestsPerMinute === undefined ? [] : [timeAtRate(calls, requestsPerMinute)]),
    ...(tokensPerMinute === undefined ? [] : [timeAtRate(tokens, tokensPerMinute)]),
  ];
}

function timeAtRate(amounts: readonly Estimated[], perMinute: number): Estimated {
  const { expected, lower, upper } = addEstimates(amounts);
  const time = (amount: number | null) =>
    amount === null ? null : (amount * SECONDS_PER_MINUTE) / perMinute;
  return { expected: time(expected), lower: time(lower), upper: time(upper) };
}
