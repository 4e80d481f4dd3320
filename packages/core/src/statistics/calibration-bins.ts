import type { Forecast } from './forecasts.ts';

/** As usual for calibration since Guo et al. (2017), arXiv:1706.04599, whose own figures have 15, and as SPARKIT has them. */
export const CALIBRATION_BINS = 10;

/**
 * The bin of a confidence among bins of equal width: i / `binCount` <= confidence < (i + 1) / `binCount`, and 1 is in the
 * last one.
 *
 * @param confidence - 0..1.
 * @returns From 0.
 */
export function binOf(confidence: number, binCount: number = CALIBRATION_BINS): number {
  let bin = 0;
  // The edges themselves are compared: a product with the number of bins may round over one.
  while (bin + 1 < binCount && confidence >= (bin + 1) / binCount) bin += 1;
  return bin;
}

/** The forecasts by bin of equal width; bins without any are left out. */
export function binForecasts(
  forecasts: readonly Forecast[],
  binCount: number = CALIBRATION_BINS,
): readonly (readonly Forecast[])[] {
  const bins = new Map<number, Forecast[]>();
  for (const forecast of forecasts) {
    const index = binOf(forecast.confidence, binCount);
    const bin = bins.get(index) ?? [];
    bins.set(index, bin);
    bin.push(forecast);
  }
  return [...bins.values()];
}
