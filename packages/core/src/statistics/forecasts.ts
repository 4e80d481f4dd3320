/**
 * How often a confidence was stated for answers of one outcome.
 *
 * The figures of calibration need no more than these counts, which take the space of the different pairs alone.
 */
export interface Forecast {
  /** 0..1. */
  readonly confidence: number;
  /** What the confidence was about, 0..1; 1 is right. */
  readonly outcome: number;
  /** > 0. */
  readonly count: number;
}

/** The answers for which one confidence was stated. */
export interface StatedAnswers {
  readonly confidence: number;
  readonly count: number;
  /** Sum of their outcomes. */
  readonly outcomes: number;
  /** Those with outcome 1. */
  readonly right: number;
}

/** The sum of a value over the answers of forecasts. */
export function sumOver(
  forecasts: readonly Forecast[],
  value: (forecast: Forecast) => number,
): number {
  return forecasts.reduce((sum, each) => sum + each.count * value(each), 0);
}

/** The number of answers of forecasts. */
export function countAnswers(forecasts: readonly Forecast[]): number {
  return sumOver(forecasts, () => 1);
}

/** The answers by confidence, ascending. */
export function answersByConfidence(forecasts: readonly Forecast[]): readonly StatedAnswers[] {
  const found = new Map<number, StatedAnswers>();
  for (const { confidence, outcome, count } of forecasts) {
    const before = found.get(confidence) ?? { confidence, count: 0, outcomes: 0, right: 0 };
    found.set(confidence, {
      confidence,
      count: before.count + count,
      outcomes: before.outcomes + count * outcome,
      right: before.right + (outcome === 1 ? count : 0),
    });
  }
  return [...found.values()].sort((left, right) => left.confidence - right.confidence);
}
