import { isAnswer } from '../domain/call.ts';
import type { CellRow } from '../domain/cell.ts';
import { KnownSum } from '../domain/known-sum.ts';
import { quantile } from '../statistics/quantile.ts';
import { wilsonInterval } from '../statistics/wilson-interval.ts';
import type { ReplicateSummary } from './summary.ts';

/** Tallies the rows of one config in one run, one at a time. Keeps one number per cell in memory. */
export class ReplicateTally {
  readonly #run: string;
  readonly #counts = { scored: 0, unparsed: 0, ungraded: 0, failed: 0, 'not-attempted': 0 };
  readonly #cost = new KnownSum();
  readonly #waste = new KnownSum();
  readonly #inputTokens = new KnownSum();
  readonly #outputTokens = new KnownSum();
  readonly #latenciesMs: number[] = [];
  #scoreSum = 0;
  #scoreSquareSum = 0;
  #correct = 0;
  #truncated = 0;

  constructor(run: string) {
    this.#run = run;
  }

  add(row: CellRow): void {
    this.#counts[row.outcome] += 1;
    if (row.score !== null) {
      this.#scoreSum += row.score;
      this.#scoreSquareSum += row.score * row.score;
      if (row.score === 1) this.#correct += 1;
    }
    const calls = row.calls.filter(isAnswer);
    if (calls.some(({ finishReason }) => finishReason === 'length')) this.#truncated += 1;
    for (const call of calls) {
      this.#cost.add(call.costUsd);
      this.#inputTokens.add(call.inputTokens);
      this.#outputTokens.add(call.outputTokens);
    }
    this.#waste.add(row.wasteUsd);
    if (row.latencyMs !== null) this.#latenciesMs.push(row.latencyMs);
  }

  /** @param coverageFloor - The least coverage for a headline score, 0..1. */
  summarize(coverageFloor: number): ReplicateSummary {
    const { scored, unparsed, ungraded, failed } = this.#counts;
    const scoreCount = scored + unparsed;
    const questions = scoreCount + ungraded + failed + this.#counts['not-attempted'];
    const coverage = questions === 0 ? 0 : scoreCount / questions;
    const score = scoreCount === 0 ? null : this.#scoreSum / scoreCount;
    const costUsd = this.#cost.value();
    return {
      run: this.#run,
      questions,
      scored,
      unparsed,
      ungraded,
      failed,
      notAttempted: this.#counts['not-attempted'],
      truncated: this.#truncated,
      correct: this.#correct,
      coverage,
      score,
      scoreLower: questions === 0 ? null : this.#scoreSum / questions,
      scoreUpper: questions === 0 ? null : (this.#scoreSum + (questions - scoreCount)) / questions,
      headline: coverage >= coverageFloor ? score : null,
      stderr: this.#standardError(scoreCount),
      ci95: mutablePair(wilsonInterval(this.#scoreSum, scoreCount)),
      brier: null,
      ece: null,
      eceEqualMass: null,
      hleCompat: null,
      meanConfidence: null,
      costUsd,
      costUsdPerQuestion: costUsd === null || scoreCount === 0 ? null : costUsd / scoreCount,
      wasteUsd: this.#waste.value(),
      inputTokens: this.#inputTokens.value(),
      outputTokens: this.#outputTokens.value(),
      latency: this.#latency(),
    };
  }

  /** The standard error of the mean score: sample standard deviation divided by the root of n. */
  #standardError(scoreCount: number): number | null {
    if (scoreCount < 2) return null;
    const squares = this.#scoreSquareSum - (this.#scoreSum * this.#scoreSum) / scoreCount;
    return Math.sqrt(Math.max(0, squares) / (scoreCount - 1) / scoreCount);
  }

  #latency(): ReplicateSummary['latency'] {
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const totalMs = sorted.reduce((sum, latencyMs) => sum + latencyMs, 0);
    const seconds = (ms: number | undefined) => (ms === undefined ? null : ms / 1000);
    const isEmpty = sorted.length === 0;
    return {
      totalS: isEmpty ? null : totalMs / 1000,
      meanS: isEmpty ? null : totalMs / 1000 / sorted.length,
      p50S: seconds(quantile(sorted, 0.5)),
      p90S: seconds(quantile(sorted, 0.9)),
      p99S: seconds(quantile(sorted, 0.99)),
    };
  }
}

function mutablePair(pair: readonly [number, number] | undefined): [number, number] | null {
  return pair === undefined ? null : [pair[0], pair[1]];
}
