import { CALIBRATION_BINS } from './calibration-bins.ts';
import { cutIntoBins } from './equal-size-bins.ts';
import { answersByConfidence, countAnswers, type Forecast } from './forecasts.ts';

/**
 * Computes the expected calibration error over ten bins of equally many answers, in the order of their confidence.
 *
 * Answers with the same confidence have no order: where a bin ends among them, each bin takes its share of all their
 * outcomes, so that the figure does not depend on how rows are sorted.
 *
 * @returns 0..1; undefined for no forecasts.
 * @see Nguyen & O'Connor (2015), doi:10.18653/v1/D15-1182, section 3 (adaptive binning)
 */
export function equalMassCalibrationError(forecasts: readonly Forecast[]): number | undefined {
  const total = countAnswers(forecasts);
  if (total === 0) return undefined;
  const bins = cutIntoBins(
    answersByConfidence(forecasts),
    total / CALIBRATION_BINS,
    CALIBRATION_BINS,
  );
  const gaps = bins.map((parts) => {
    const sum = parts.reduce(
      (gap, { answers, taken }) =>
        gap + taken * (answers.confidence - answers.outcomes / answers.count),
      0,
    );
    return Math.abs(sum);
  });
  return gaps.reduce((sum, each) => sum + each, 0) / total;
}
