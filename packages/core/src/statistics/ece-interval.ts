import { withAddedAnswers } from './brier-interval.ts';
import { squaredGap } from './brier-score.ts';
import { binForecasts } from './calibration-bins.ts';
import { gap } from './expected-calibration-error.ts';
import { countAnswers, type Forecast, sumOver } from './forecasts.ts';
import { Z_95 } from './wilson-interval.ts';

/** Mean of the distance of a standard normal value from 0. Its variance is 1 less the square of this. */
const HALF_NORMAL_MEAN = Math.sqrt(2 / Math.PI);

/**
 * Computes an interval of the expected calibration error over ten bins of equal width, at 95 %.
 *
 * The error is the sum over bins of the distance of a mean gap from 0, and such a distance is above 0 by chance alone. The
 * upper bound is the normal one. For the lower one, a bin whose gap may be chance counts as if it were: what chance gives it
 * is taken off. As in {@link brierInterval}, two right and two wrong answers are added first.
 *
 * It holds in 93 to 100 % of cases: more than 97 % where gaps are about as large as chance makes them. A percentile
 * bootstrap does in 0 % where confidences are right, for its resamples add chance to chance (docs/decisions/0042).
 *
 * @param trials - How many independent answers the forecasts are worth, > 0. @default as many as there are
 * @returns The bounds in 0..1, lower first; undefined for no forecasts.
 * @see Broecker (2012), doi:10.1007/s00382-011-1191-1, and Kumar, Liang & Ma (2019), arXiv:1909.10155, on the bias; Andrews
 *   & Soares (2010), doi:10.3982/ECTA7502, on what may be 0: less than sqrt(ln n) standard errors
 */
export function eceInterval(
  forecasts: readonly Forecast[],
  trials: number = countAnswers(forecasts),
): readonly [number, number] | undefined {
  if (forecasts.length === 0) return undefined;
  const added = withAddedAnswers(forecasts, trials);
  const total = countAnswers(added);
  let [error, byChance, lessVariance] = [0, 0, 0];
  for (const bin of binForecasts(added)) {
    const mean = sumOver(bin, gap) / total;
    const variance = Math.max(0, sumOver(bin, squaredGap) / total - mean * mean) / total;
    error += Math.abs(mean);
    if (mean * mean >= Math.log(total) * variance) continue;
    byChance += HALF_NORMAL_MEAN * Math.sqrt(variance);
    lessVariance += HALF_NORMAL_MEAN ** 2 * variance;
  }
  // The distances add up with the sign of each bin, so that the sum of their squares is that of the gaps.
  const variance = Math.max(0, sumOver(added, squaredGap) / total - error * error) / total;
  const below = Math.sqrt(Math.max(0, variance - lessVariance));
  return [
    Math.max(0, error - byChance - Z_95 * below),
    Math.min(1, error + Z_95 * Math.sqrt(variance)),
  ];
}
