import { auroc } from '../statistics/auroc.ts';
import { brierDecomposition } from '../statistics/brier-decomposition.ts';
import { brierInterval } from '../statistics/brier-interval.ts';
import { brierScore, squaredGap } from '../statistics/brier-score.ts';
import { eceInterval } from '../statistics/ece-interval.ts';
import { equalMassCalibrationError } from '../statistics/equal-mass-calibration-error.ts';
import { expectedCalibrationError } from '../statistics/expected-calibration-error.ts';
import { countAnswers, type Forecast, sumOver } from '../statistics/forecasts.ts';
import { hleCalibrationError } from '../statistics/hle-calibration-error.ts';
import type { CalibrationTrials } from './calibration-clusters.ts';
import type { CalibrationSummary } from './summary.ts';

/**
 * The figures of calibration; all but `nCal` are null without a cell that has a confidence and a score.
 *
 * @param failed - Failed cells, which `brierPess` counts as certain and wrong.
 * @param trials - How many independent cells the Brier score and the ECE are worth; undefined if that is unknown.
 *   @default all cells
 */
export function summarizeCalibration(
  forecasts: readonly Forecast[],
  failed: number,
  trials?: CalibrationTrials,
): CalibrationSummary {
  const nCal = countAnswers(forecasts);
  const brier = brierScore(forecasts);
  const ece = expectedCalibrationError(forecasts);
  const parts = brierDecomposition(forecasts);
  const { brier: brierTrials, ece: eceTrials } = trials ?? { brier: nCal, ece: nCal };
  return {
    nCal,
    brier: brier ?? null,
    brierCi95: intervalOf(brierInterval, forecasts, brierTrials),
    reliability: parts?.reliability ?? null,
    resolution: parts?.resolution ?? null,
    uncertainty: parts?.uncertainty ?? null,
    withinBins: parts?.withinBins ?? null,
    brierPess: nCal === 0 ? null : (sumOver(forecasts, squaredGap) + failed) / (nCal + failed),
    ece: ece ?? null,
    eceCi95: intervalOf(eceInterval, forecasts, eceTrials),
    eceEqualMass: equalMassCalibrationError(forecasts) ?? null,
    hleCompat: hleCalibrationError(forecasts) ?? null,
    auroc: auroc(forecasts) ?? null,
  };
}

function intervalOf(
  interval: typeof brierInterval,
  forecasts: readonly Forecast[],
  trials: number | undefined,
): [number, number] | null {
  const [lower, upper] = (trials === undefined ? undefined : interval(forecasts, trials)) ?? [];
  return lower === undefined || upper === undefined ? null : [lower, upper];
}
