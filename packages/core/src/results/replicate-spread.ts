import type { CellRow } from '../domain/cell.ts';
import { countedScoreOf } from '../domain/ruling.ts';
import { flipRate } from '../statistics/flip-rate.ts';
import { passAtK } from '../statistics/pass-at-k.ts';
import { type OverQuestions, passHatK } from '../statistics/pass-hat-k.ts';
import { addValue, noMoments, type RunningMoments } from '../statistics/running-moments.ts';
import { type VarianceSplit, varianceSplit } from '../statistics/variance-split.ts';

/** How far the replicates of a config agree. */
export interface ReplicateFigures {
  readonly config: string;
  /** The most that a question has with a score, at least 2; the k of the next two. */
  readonly replicates: number;
  /** The chance that at least one of k replicates of a question has score 1. */
  readonly passAtK: OverQuestions | null;
  /** The chance that all of them have. */
  readonly passHatK: OverQuestions | null;
  /** Share of pairs of replicates of one question of which only one has score 1; null without a pair. */
  readonly flipRate: number | null;
  readonly variance: VarianceSplit;
}

/** What is known of a question. */
interface QuestionSpread {
  readonly moments: RunningMoments;
  /** Replicates with score 1. */
  passes: number;
}

/** Collects the scores of a config by question, to say how far its replicates agree. */
export class ReplicateSpread {
  readonly #config: string;
  readonly #byId = new Map<string, QuestionSpread>();

  constructor(config: string) {
    this.#config = config;
  }

  add(row: Pick<CellRow, 'id' | 'score' | 'ruling'>): void {
    const { id } = row;
    const score = countedScoreOf(row);
    if (score === null) return;
    const question = this.#byId.get(id) ?? { moments: noMoments(), passes: 0 };
    this.#byId.set(id, question);
    addValue(question.moments, score);
    if (score === 1) question.passes += 1;
  }

  /** @returns Undefined where no question has two scores. */
  summarize(): ReplicateFigures | undefined {
    const questions = [...this.#byId.values()];
    const replicates = questions.reduce((most, { moments }) => Math.max(most, moments.count), 0);
    if (replicates < 2) return undefined;
    const passes = questions.map(({ moments: { count }, passes: sum }) => ({ sum, count }));
    return {
      config: this.#config,
      replicates,
      passAtK: passAtK(passes, replicates) ?? null,
      passHatK: passHatK(passes, replicates) ?? null,
      flipRate: flipRate(passes.map(({ sum, count }) => [sum, count - sum])) ?? null,
      variance: varianceSplit(questions.map(({ moments }) => moments)),
    };
  }
}
