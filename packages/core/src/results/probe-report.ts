import { CONTROLS, type Probe } from '../scorers/judge/probes.ts';
import { clusteredInterval } from '../statistics/clustered-interval.ts';
import { mcnemarTest } from '../statistics/mcnemar-test.ts';
import { mean } from '../statistics/mean.ts';
import type { Figure } from './judge-report.ts';

/**
 * The p-value below which a probe counts as one that moves the judge. Small, so that of the hundreds of probes of a benchmark
 * none accuses a judge that only errs now and then.
 */
const SIGNIFICANCE = 0.001;

/** What a judge said of an answer, and what it said of what a probe made of it. */
export interface ProbedAnswer {
  readonly probe: Probe;
  readonly id: string;
  readonly config: string;
  /** 0..1. Of `swapped`: whether the judge prefers an answer that it is shown first. */
  readonly before: number;
  /** Of `swapped`: whether the judge prefers the same answer when it is shown second. */
  readonly after: number;
}

/** What one probe has found. */
export interface ProbeFigures {
  readonly probe: Probe;
  readonly answerCount: number;
  /** Share of the verdicts that changed, with its interval over the questions. */
  readonly changed: Figure | null;
  /** Verdicts that became better, and that became worse. */
  readonly gainedCount: number;
  readonly lostCount: number;
  /** McNemar's test of whether verdicts changed in one direction; null for a control, whose verdicts should. */
  readonly pValue: number | null;
  /** The mean of the verdicts on what the probe made; null without any. */
  readonly score: number | null;
  /** Of a control: the configs whose own answers do not score more. */
  readonly beats: readonly string[];
  /** Whether the judge is moved by what the probe changes: it is to be said wherever its figures are shown. */
  readonly isExposed: boolean;
}

/**
 * Reports what probes have found. A judge that is fair gives the controls less than any answer, and is not moved by length,
 * order, a request or a name: where its verdicts change, they do so as often in one direction as in the other.
 */
export function reportProbes(answers: readonly ProbedAnswer[]): readonly ProbeFigures[] {
  return [...Map.groupBy(answers, ({ probe }) => probe)].map(([probe, own]) =>
    CONTROLS.has(probe) ? reportControl(probe, own) : reportChange(probe, own),
  );
}

function reportControl(probe: Probe, answers: readonly ProbedAnswer[]): ProbeFigures {
  const byConfig = Map.groupBy(answers, ({ config }) => config);
  const beats = [...byConfig].flatMap(([config, own]) => {
    const [before = 0, after = 0] = [mean(own.map((each) => each.before)), scoreOf(own)];
    return after >= before ? [config] : [];
  });
  return { ...countsOf(probe, answers), pValue: null, beats, isExposed: beats.length > 0 };
}

function reportChange(probe: Probe, answers: readonly ProbedAnswer[]): ProbeFigures {
  const counts = countsOf(probe, answers);
  const pValue = mcnemarTest(counts.gainedCount, counts.lostCount);
  return { ...counts, pValue, beats: [], isExposed: pValue < SIGNIFICANCE };
}

function countsOf(probe: Probe, answers: readonly ProbedAnswer[]) {
  return {
    probe,
    answerCount: answers.length,
    changed: changedOf(answers),
    gainedCount: answers.filter(({ before, after }) => after > before).length,
    lostCount: answers.filter(({ before, after }) => after < before).length,
    score: scoreOf(answers) ?? null,
  };
}

function changedOf(answers: readonly ProbedAnswer[]): Figure | null {
  const changes = answers.map(({ id, before, after }) => ({ id, value: Number(before !== after) }));
  const value = mean(changes.map((change) => change.value));
  if (value === undefined) return null;
  const clusters = [...Map.groupBy(changes, ({ id }) => id).values()].map((cluster) => ({
    sum: cluster.reduce((sum, change) => sum + change.value, 0),
    count: cluster.length,
  }));
  const bounds = clusteredInterval(clusters);
  return { value, lower: bounds?.[0] ?? null, upper: bounds?.[1] ?? null };
}

function scoreOf(answers: readonly ProbedAnswer[]): number | undefined {
  return mean(answers.map(({ after }) => after));
}
