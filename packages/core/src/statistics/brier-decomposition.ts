import { binForecasts } from './calibration-bins.ts';
import { countAnswers, type Forecast, sumOver } from './forecasts.ts';

/** What a Brier score consists of: reliability - resolution + uncertainty + withinBins. */
export interface BrierDecomposition {
  /** Mean squared distance between the mean confidence and the mean outcome of a bin; 0 is best. */
  readonly reliability: number;
  /** Variance of the mean outcome between bins: how well confidences tell answers apart; more is better. */
  readonly resolution: number;
  /** Variance of the outcomes, whatever was stated. */
  readonly uncertainty: number;
  /** What the confidences of one bin add by their differences, or take off; 0 where each bin has one. */
  readonly withinBins: number;
}

/**
 * Decomposes the Brier score over ten bins of equal width.
 *
 * @returns Parts that give the Brier score exactly, also for outcomes between 0 and 1; undefined for no forecasts.
 * @see Murphy (1973), doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2; Stephenson, Coelho & Jolliffe (2008),
 *   doi:10.1175/2007WAF2006116.1, for the two terms within bins, the variance less the covariance, of which this is the sum
 */
export function brierDecomposition(forecasts: readonly Forecast[]): BrierDecomposition | undefined {
  const total = countAnswers(forecasts);
  if (total === 0) return undefined;
  const mean = sumOver(forecasts, ({ outcome }) => outcome) / total;
  let [reliability, resolution, withinBins] = [0, 0, 0];
  for (const bin of binForecasts(forecasts)) {
    const count = countAnswers(bin);
    const stated = sumOver(bin, ({ confidence }) => confidence) / count;
    const observed = sumOver(bin, ({ outcome }) => outcome) / count;
    reliability += count * (stated - observed) ** 2;
    resolution += count * (observed - mean) ** 2;
    withinBins += sumOver(
      bin,
      ({ confidence, outcome }) =>
        (confidence - stated) ** 2 - 2 * (confidence - stated) * (outcome - observed),
    );
  }
  return {
    reliability: reliability / total,
    resolution: resolution / total,
    uncertainty: sumOver(forecasts, ({ outcome }) => (outcome - mean) ** 2) / total,
    withinBins: withinBins / total,
  };
}
