import { countAnswers, type Forecast, sumOver } from './forecasts.ts';

/**
 * Computes the Brier score: the mean squared distance between confidence and outcome.
 *
 * @returns 0 (certain and right throughout) to 1; undefined for no forecasts.
 * @see Brier (1950), doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2, in its form for two outcomes, half of his sum
 */
export function brierScore(forecasts: readonly Forecast[]): number | undefined {
  const count = countAnswers(forecasts);
  return count === 0 ? undefined : sumOver(forecasts, squaredGap) / count;
}

/** The squared distance between confidence and outcome. */
export function squaredGap({ confidence, outcome }: Forecast): number {
  return (confidence - outcome) ** 2;
}
