import { mean } from './mean.ts';
import { sampleVariance } from './sample-variance.ts';
import { tQuantile } from './student-t.ts';

/** So many equal amounts show that amounts hardly vary; fewer may be equal by chance. */
const TELLING_COUNT = 10;

/** A total that is predicted; null for a bound that the sample does not tell. */
export interface PredictedTotal {
  readonly expected: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/**
 * Predicts the total of new amounts from a sample of such amounts, with its 95 % t interval.
 *
 * @param sample - Amounts >= 0, at least one.
 * @param size - How many new amounts the total is of, integer >= 0.
 * @returns Bounds >= 0; null for a sample of one, and for fewer than ten equal amounts: they show no spread.
 * @see Hahn, Meeker (1991), Statistical Intervals, section 4.7 (the mean of future observations)
 */
export function predictedTotal(sample: readonly number[], size: number): PredictedTotal {
  const expected = (mean(sample) ?? 0) * size;
  const variance = sampleVariance(sample);
  if (size === 0) return { expected, lower: 0, upper: 0 };
  const isEqual = sample.every((amount) => amount === sample[0]);
  if (variance === undefined || (isEqual && sample.length < TELLING_COUNT)) {
    return { expected, lower: null, upper: null };
  }
  const error = size * Math.sqrt(variance * (1 / sample.length + 1 / size));
  const half = tQuantile(0.975, sample.length - 1) * error;
  return { expected, lower: Math.max(0, expected - half), upper: expected + half };
}
