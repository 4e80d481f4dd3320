import * as z from 'zod';
import type { CellRow } from '../domain/cell.ts';
import { brierScore, squaredGap } from '../statistics/brier-score.ts';
import { binOf, CALIBRATION_BINS } from '../statistics/calibration-bins.ts';
import { effectiveTrials } from '../statistics/effective-trials.ts';
import { expectedCalibrationError } from '../statistics/expected-calibration-error.ts';
import { countAnswers, type Forecast, sumOver } from '../statistics/forecasts.ts';
import { calibrationPairOf } from './calibration-tally.ts';

/**
 * Beyond so many questions, several share a cluster, as those of `ScoreClusters` do. The standard error is then known to
 * about 4 %, and the clusters of a group of any size, with a sum for each bin, take about 50 KB.
 */
const MAX_CLUSTERS = 256;

const clusterSchema = z.strictObject({
  cells: z.int(),
  /** Sum of the squared distances between confidence and outcome. */
  squares: z.number(),
  /** Sum of confidence less outcome, by bin. */
  gaps: z.array(z.number()).length(CALIBRATION_BINS),
});

/** What {@link CalibrationClusters} have added so far, by the number of the cluster. */
export const calibrationClustersSchema = z.array(z.tuple([z.int(), clusterSchema]));
/** What {@link CalibrationClusters} have added so far, by the number of the cluster. */
export type CalibrationClustersState = z.infer<typeof calibrationClustersSchema>;

/** The confidences and outcomes of a config, a cluster for each question over all runs. */
export class CalibrationClusters {
  readonly #clusters: Map<number, CalibrationCluster>;

  /** @param from - The state of others, to continue with. @default no rows added */
  constructor(from: CalibrationClustersState = []) {
    this.#clusters = new Map(from.map(([index, cluster]) => [index, copyOf(cluster)]));
  }

  /** @param index - Which of the config's questions the row is of, from 0; the same in each run. */
  add(index: number, row: CellRow): void {
    const pair = calibrationPairOf(row);
    if (pair === undefined) return;
    const key = index % MAX_CLUSTERS;
    const cluster = this.#clusters.get(key) ?? copyOf(EMPTY);
    this.#clusters.set(key, cluster);
    const gap = pair.confidence - pair.outcome;
    const bin = binOf(pair.confidence);
    cluster.cells += 1;
    cluster.squares += gap * gap;
    cluster.gaps[bin] = (cluster.gaps[bin] ?? 0) + gap;
  }

  state(): CalibrationClustersState {
    return [...this.#clusters].map(([index, cluster]) => [index, copyOf(cluster)]);
  }

  /** @param forecasts - Of the same rows. */
  trials(forecasts: readonly Forecast[]): CalibrationTrials {
    const clusters = [...this.#clusters.values()];
    const squares = clusters.map(({ cells, squares }) => ({ sum: squares, count: cells }));
    const brier = brierScore(forecasts) ?? 0;
    const deviations = sumOver(forecasts, (each) => (squaredGap(each) - brier) ** 2);
    // The ECE is the mean of the gaps, each with the sign of its bin; and the mean of their squares is the Brier score.
    const signs = EMPTY.gaps.map((_, bin) =>
      Math.sign(clusters.reduce((sum, { gaps }) => sum + (gaps[bin] ?? 0), 0)),
    );
    const signedGaps = clusters.map(({ cells, gaps }) => ({
      sum: signs.reduce((sum, sign, bin) => sum + sign * (gaps[bin] ?? 0), 0),
      count: cells,
    }));
    const ece = expectedCalibrationError(forecasts) ?? 0;
    return {
      brier: effectiveTrials(squares, deviations / countAnswers(forecasts)),
      ece: effectiveTrials(signedGaps, brier - ece * ece),
    };
  }
}

/** How many independent cells two means are worth; undefined for cells of fewer than two questions. */
export interface CalibrationTrials {
  readonly brier: number | undefined;
  readonly ece: number | undefined;
}

type CalibrationCluster = z.infer<typeof clusterSchema>;

const EMPTY: CalibrationCluster = {
  cells: 0,
  squares: 0,
  gaps: Array.from({ length: CALIBRATION_BINS }, () => 0),
};

function copyOf(cluster: CalibrationCluster): CalibrationCluster {
  return { ...cluster, gaps: [...cluster.gaps] };
}
