import * as z from 'zod';
import type { CellRow } from '../domain/cell.ts';
import { ownValue } from '../domain/question.ts';
import type { Forecast } from '../statistics/forecasts.ts';

/**
 * So many different pairs of confidence and outcome are counted as they are. Models state few different confidences; where
 * there are more pairs, both are rounded to {@link STEPS_TO_ONE}, which leaves 101 * 101 pairs at most.
 */
const MAX_PAIRS = 4_096;
/** Hundredths, as most confidences are stated in. */
const STEPS_TO_ONE = 100;

/** What a {@link CalibrationTally} has counted so far. */
export const calibrationTallySchema = z.strictObject({
  isRounded: z.boolean(),
  /** Confidence, outcome, and how many cells have them. */
  pairs: z.array(z.tuple([z.number(), z.number(), z.int()])),
});
/** What a {@link CalibrationTally} has counted so far. */
export type CalibrationTallyState = z.infer<typeof calibrationTallySchema>;

/** A confidence and the outcome of its cell, 0..1. */
type Pair = Pick<Forecast, 'confidence' | 'outcome'>;

/**
 * What a row says about calibration; undefined for a row without a score or without a confidence.
 *
 * The outcome is the score. A scorer with partial scores may say by a metric `right`, 1 or 0, which answers are right.
 */
export function calibrationPairOf({ confidence, score, metrics }: CellRow): Pair | undefined {
  if (confidence === null || score === null) return undefined;
  return { confidence, outcome: ownValue(metrics, 'right') ?? score };
}

/** Counts cells by confidence and outcome. The order of rows makes no difference. */
export class CalibrationTally {
  readonly #counts = new Map<string, Forecast>();
  #isRounded: boolean;

  /** @param from - The states of other tallies, to add. @default no rows added */
  constructor(...from: readonly CalibrationTallyState[]) {
    this.#isRounded = from.some(({ isRounded }) => isRounded);
    for (const [confidence, outcome, count] of from.flatMap(({ pairs }) => pairs)) {
      this.#add({ confidence, outcome, count });
    }
  }

  add(row: CellRow): void {
    const pair = calibrationPairOf(row);
    if (pair !== undefined) this.#add({ ...pair, count: 1 });
  }

  state(): CalibrationTallyState {
    return {
      isRounded: this.#isRounded,
      pairs: this.forecasts().map(({ confidence, outcome, count }) => [confidence, outcome, count]),
    };
  }

  /** In ascending order. */
  forecasts(): readonly Forecast[] {
    return [...this.#counts.values()].sort(
      (left, right) => left.confidence - right.confidence || left.outcome - right.outcome,
    );
  }

  #add(forecast: Forecast): void {
    const { confidence, outcome, count } = this.#isRounded ? rounded(forecast) : forecast;
    const key = `${confidence} ${outcome}`;
    const before = this.#counts.get(key)?.count ?? 0;
    this.#counts.set(key, { confidence, outcome, count: before + count });
    if (this.#isRounded || this.#counts.size <= MAX_PAIRS) return;
    const exact = [...this.#counts.values()];
    this.#counts.clear();
    this.#isRounded = true;
    for (const each of exact) this.#add(each);
  }
}

function rounded({ confidence, outcome, count }: Forecast): Forecast {
  const toStep = (value: number) => Math.round(value * STEPS_TO_ONE) / STEPS_TO_ONE;
  return { confidence: toStep(confidence), outcome: toStep(outcome), count };
}
