import { seededRandom } from '@thrice/core';
import { CalibrationClusters } from '../../packages/core/src/results/calibration-clusters.ts';
import { summarizeCalibration } from '../../packages/core/src/results/summarize-calibration.ts';
import { binOf } from '../../packages/core/src/statistics/calibration-bins.ts';
import type { Forecast } from '../../packages/core/src/statistics/forecasts.ts';
import { aCellRow } from './builders.ts';

/** How a simulated model states confidences, each as often as the others, and how often it is right. */
export interface StatingModel {
  readonly name: string;
  readonly confidences: readonly number[];
  rightAt(confidence: number): number;
}

const usual = [0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.95, 0.99];
const percents = Array.from({ length: 101 }, (_, percent) => percent / 100);
const right = (confidence: number) => confidence;

/** From models whose confidences are right to such that are far off, with one, a few and many confidences. */
export const statingModels: readonly StatingModel[] = [
  { name: 'one confidence, right', confidences: [0.95], rightAt: right },
  { name: 'one confidence, 25 points too high', confidences: [0.95], rightAt: () => 0.7 },
  { name: 'a few, right', confidences: usual, rightAt: right },
  { name: 'a few, 5 points too high', confidences: usual, rightAt: (each) => each - 0.05 },
  { name: 'a few, 15 points too high', confidences: usual, rightAt: (each) => each - 0.15 },
  { name: 'a few, of hard questions', confidences: usual, rightAt: (each) => each / 5 },
  { name: 'nearly always right', confidences: [0.9, 0.95, 0.98, 0.99, 1], rightAt: () => 0.97 },
  { name: 'all percents, right', confidences: percents, rightAt: right },
  {
    name: 'all percents, too high in the middle',
    confidences: percents,
    rightAt: (each) => each ** 2,
  },
  { name: 'all percents, too bold', confidences: percents, rightAt: (each) => 0.35 + 0.3 * each },
];

/** The Brier score and the ECE of a model over infinitely many answers. */
export function trueFiguresOf({ confidences, rightAt }: StatingModel) {
  const gaps = new Map<number, number>();
  let brier = 0;
  for (const each of confidences) {
    const share = rightAt(each);
    gaps.set(binOf(each), (gaps.get(binOf(each)) ?? 0) + each - share);
    brier += share * (1 - each) ** 2 + (1 - share) * each ** 2;
  }
  const ece = [...gaps.values()].reduce((sum, gap) => sum + Math.abs(gap), 0);
  return { brier: brier / confidences.length, ece: ece / confidences.length };
}

/** What is drawn, and how often. */
interface Drawing {
  readonly model: StatingModel;
  readonly questions: number;
  readonly draws: number;
  /** @default 1 */
  readonly replicates?: number;
  /** The share of questions whose replicates all have one outcome. @default 0 */
  readonly alike?: number;
}

/** How often each interval has the true figure in it, 0..1. */
export function coverageOf(drawing: Drawing): { readonly brier: number; readonly ece: number } {
  const { model, questions, draws, replicates = 1 } = drawing;
  const truth = trueFiguresOf(model);
  const random = seededRandom(model.name, questions, replicates);
  const covered = { brier: 0, ece: 0 };
  for (let draw = 0; draw < draws; draw += 1) {
    const { forecasts, clusters } = drawAnswers(drawing, random);
    const trials = replicates === 1 ? undefined : clusters.trials(forecasts);
    const { brierCi95, eceCi95 } = summarizeCalibration(forecasts, 0, trials);
    covered.brier += Number(has(brierCi95, truth.brier));
    covered.ece += Number(has(eceCi95, truth.ece));
  }
  return { brier: covered.brier / draws, ece: covered.ece / draws };
}

function drawAnswers(
  { model: { confidences, rightAt }, questions, replicates = 1, alike = 0 }: Drawing,
  random: () => number,
) {
  const clusters = new CalibrationClusters();
  // Wrong and right ones of each confidence.
  const counts = new Int32Array(2 * confidences.length);
  for (let question = 0; question < questions; question += 1) {
    const at = Math.floor(random() * confidences.length);
    const confidence = confidences[at] ?? 0;
    const isAlike = random() < alike;
    let score = Number(random() < rightAt(confidence));
    for (let replicate = 0; replicate < replicates; replicate += 1) {
      if (replicate > 0 && !isAlike) score = Number(random() < rightAt(confidence));
      counts[2 * at + score] = (counts[2 * at + score] ?? 0) + 1;
      if (replicates > 1) clusters.add(question, { ...cell, confidence, score });
    }
  }
  const forecasts = [...counts].flatMap((count, index): Forecast[] =>
    count === 0 ? [] : [{ confidence: confidences[index >> 1] ?? 0, outcome: index & 1, count }],
  );
  return { forecasts, clusters };
}

const cell = aCellRow();

/** What rounding may leave of a difference between a bound and a figure that are the same. */
const ROUNDING = 1e-12;

function has(interval: readonly [number, number] | null, figure: number): boolean {
  if (interval === null) return false;
  return interval[0] <= figure + ROUNDING && figure - ROUNDING <= interval[1];
}
