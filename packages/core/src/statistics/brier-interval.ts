import { squaredGap } from './brier-score.ts';
import { countAnswers, type Forecast, sumOver } from './forecasts.ts';
import { Z_95 } from './wilson-interval.ts';

/**
 * Computes an interval of the Brier score at 95 %: the normal one after adding two right and two wrong answers, spread over
 * the confidences as they were stated.
 *
 * Without these, errors that are rare and large, as those of a good model that is sure of itself, make the interval far too
 * short: of 30 such answers, most often none is wrong.
 *
 * @param trials - How many independent answers the forecasts are worth, > 0. @default as many as there are
 * @returns The bounds in 0..1, lower first; undefined for no forecasts.
 * @see Agresti & Coull (1998), doi:10.1080/00031305.1998.10480550, of which this is the case for a single confidence
 */
export function brierInterval(
  forecasts: readonly Forecast[],
  trials: number = countAnswers(forecasts),
): readonly [number, number] | undefined {
  if (forecasts.length === 0) return undefined;
  const added = withAddedAnswers(forecasts, trials);
  const total = countAnswers(added);
  const mean = sumOver(added, squaredGap) / total;
  const variance = sumOver(added, (each) => (squaredGap(each) - mean) ** 2) / total;
  const half = Z_95 * Math.sqrt(variance / total);
  return [Math.max(0, mean - half), Math.min(1, mean + half)];
}

/** Right answers that are added, and wrong ones: about half of the square of {@link Z_95}. */
const ADDED = 2;

/** Forecasts that count as so many trials, and {@link ADDED} right and wrong ones, spread over their confidences. */
export function withAddedAnswers(
  forecasts: readonly Forecast[],
  trials: number,
): readonly Forecast[] {
  const total = countAnswers(forecasts);
  return forecasts.flatMap(({ confidence, outcome, count }) => {
    const share = count / total;
    return [
      { confidence, outcome, count: trials * share },
      { confidence, outcome: 1, count: ADDED * share },
      { confidence, outcome: 0, count: ADDED * share },
    ];
  });
}
