import { cutIntoBins } from './equal-size-bins.ts';
import { answersByConfidence, countAnswers, type Forecast } from './forecasts.ts';

/** Answers of a bin in the script. */
const BIN_SIZE = 100;

/**
 * Computes the calibration error of Humanity's Last Exam as its script does: the root mean square over bins of 100 answers,
 * in the order of their confidence, of the distance between mean confidence and share of right answers.
 *
 * The script's loop leaves out its last bin, which has the 100 to 199 most confident answers, but divides by the number of
 * all answers: the figure is too low for a model that is overconfident where it is most confident. Below 200 answers no bin
 * is left. The script then prints 0, or fails below 100; here the figure is unknown. It sorts answers of the same
 * confidence as its sort leaves them; this is the root of the mean square over all their orders. It rounds to whole
 * percents, and its judge reads a missing confidence as 100 %; here neither is done.
 *
 * @returns 0..1; undefined for fewer than 200 answers.
 * @see https://github.com/centerforaisafety/hle, hle_eval/run_judge_results.py, `calib_err` with p = 2 and beta = 100
 *   (2026-11), from https://github.com/hendrycks/outlier-exposure, utils/calibration_tools.py
 */
export function hleCalibrationError(forecasts: readonly Forecast[]): number | undefined {
  const total = countAnswers(forecasts);
  const binCount = Math.floor(total / BIN_SIZE) - 1;
  if (binCount < 1) return undefined;
  let squares = 0;
  for (const parts of cutIntoBins(answersByConfidence(forecasts), BIN_SIZE, binCount)) {
    let [gap, variance] = [0, 0];
    for (const { answers, taken } of parts) {
      const { confidence, count, right } = answers;
      const share = right / count;
      gap += taken * (confidence - share);
      // Hypergeometric: which of the answers with this confidence the bin takes is left to chance.
      if (taken < count) variance += (taken * share * (1 - share) * (count - taken)) / (count - 1);
    }
    squares += (gap * gap + variance) / BIN_SIZE;
  }
  return Math.sqrt(squares / total);
}
