import { binForecasts, CALIBRATION_BINS } from './calibration-bins.ts';
import { countAnswers, type Forecast, sumOver } from './forecasts.ts';

/**
 * Computes the expected calibration error over bins of equal width: the mean over answers of the distance between the mean
 * confidence and the mean outcome of their bin.
 *
 * It is above 0 by chance alone, the more so the fewer answers a bin has: {@link eceInterval} says what it can be.
 *
 * @param binCount - Integer >= 1. @default 10
 * @returns 0..1; undefined for no forecasts.
 * @see Naeini, Cooper & Hauskrecht (2015), doi:10.1609/aaai.v29i1.9602
 */
export function expectedCalibrationError(
  forecasts: readonly Forecast[],
  binCount: number = CALIBRATION_BINS,
): number | undefined {
  const total = countAnswers(forecasts);
  if (total === 0) return undefined;
  const gaps = binForecasts(forecasts, binCount).map((bin) => Math.abs(sumOver(bin, gap)));
  return gaps.reduce((sum, each) => sum + each, 0) / total;
}

/** How far a confidence is above the outcome, -1..1. */
export function gap({ confidence, outcome }: Forecast): number {
  return confidence - outcome;
}
