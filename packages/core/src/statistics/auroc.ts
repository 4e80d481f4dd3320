import { answersByConfidence, type Forecast } from './forecasts.ts';

/**
 * Computes the area under the ROC curve of confidence: the probability that a right answer states a higher confidence than
 * another one, where equal confidences count half.
 *
 * Unlike calibration, it says whether confidences tell right answers from others, whatever their scale.
 *
 * @returns 0..1, 0.5 for confidences that tell nothing; undefined without a right answer or without another one.
 * @see Hanley & McNeil (1982), doi:10.1148/radiology.143.1.7063747
 */
export function auroc(forecasts: readonly Forecast[]): number | undefined {
  let [rightCount, otherCount, ordered] = [0, 0, 0];
  for (const { count, right } of answersByConfidence(forecasts)) {
    const other = count - right;
    ordered += right * (otherCount + other / 2);
    rightCount += right;
    otherCount += other;
  }
  const pairs = rightCount * otherCount;
  return pairs === 0 ? undefined : ordered / pairs;
}
