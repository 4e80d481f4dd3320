import * as z from 'zod';
import type { CellRow } from '../domain/cell.ts';
import { COMPARISON_STEPS } from '../scorers/judge/probe-steps.ts';
import { ANSWER_PROBES, CONTROLS, type Probe } from '../scorers/judge/probes.ts';
import { mcnemarTest } from '../statistics/mcnemar-test.ts';
import { wilsonInterval } from '../statistics/wilson-interval.ts';
import type { ProbeSummary } from './summary.ts';

/**
 * The p-value below which a probe counts as one that moves the judge. Small, so that of the hundreds of probes of a benchmark
 * none accuses a judge that only errs now and then.
 */
const SIGNIFICANCE = 0.001;

const countsSchema = z.strictObject({
  probe: z.enum([...ANSWER_PROBES, 'swapped']),
  answers: z.int(),
  gained: z.int(),
  lost: z.int(),
  /** Sums of the scores of the answers, and of what the probe made of them. */
  before: z.number(),
  after: z.number(),
});
/** What a {@link ProbeTally} has counted so far. */
export const probeTallySchema = z.array(countsSchema);
/** What a {@link ProbeTally} has counted so far. */
export type ProbeTallyState = z.infer<typeof probeTallySchema>;
type Counts = z.infer<typeof countsSchema>;

/** Counts what probes have found about the judges of a config. */
export class ProbeTally {
  readonly #counts = new Map<Probe, Counts>();

  /** @param from - The states of other tallies, to continue with. @default none */
  constructor(...from: readonly ProbeTallyState[]) {
    for (const { probe, ...counts } of from.flat()) this.#count(probe, counts);
  }

  add({ score, probes }: Pick<CellRow, 'score' | 'probes'>): void {
    if (probes === undefined) return;
    for (const probe of ANSWER_PROBES) this.note(probe, score, probes[probe]);
    const [first, second] = COMPARISON_STEPS;
    this.note('swapped', probes[first], probes[second]);
  }

  /**
   * Counts one probe of one answer.
   *
   * @param before - The score of the answer; of `swapped`, whether it is preferred where it is shown first. 0..1.
   * @param after - The score of what the probe made of it; of `swapped`, whether it is preferred where it is shown second.
   */
  note(probe: Probe, before: number | null | undefined, after: number | null | undefined): void {
    if (before === null || before === undefined || after === null || after === undefined) return;
    const [gained, lost] = [Number(after > before), Number(after < before)];
    this.#count(probe, { answers: 1, gained, lost, before, after });
  }

  state(): ProbeTallyState {
    return [...this.#counts.values()].map((counts) => ({ ...counts }));
  }

  /** What each probe has found; undefined without any. */
  summarize(): ProbeSummary[] | undefined {
    return this.#counts.size === 0 ? undefined : [...this.#counts.values()].map(describe);
  }

  #count(probe: Probe, added: Omit<Counts, 'probe'>): void {
    const counts = this.#counts.get(probe) ?? {
      ...{ probe, answers: 0, gained: 0, lost: 0, before: 0, after: 0 },
    };
    counts.answers += added.answers;
    counts.gained += added.gained;
    counts.lost += added.lost;
    counts.before += added.before;
    counts.after += added.after;
    this.#counts.set(probe, counts);
  }
}

/**
 * A judge that is fair gives the controls less than the answers, and is not moved by length, order, a request or a name:
 * where its verdicts change, they do so as often in one direction as in the other.
 */
function describe({ probe, answers, gained, lost, before, after }: Counts): ProbeSummary {
  const isControl = CONTROLS.has(probe);
  const pValue = isControl ? null : mcnemarTest(gained, lost).p;
  const [lower, upper] = wilsonInterval(gained + lost, answers) ?? [];
  return {
    probe,
    answers,
    gained,
    lost,
    changed: answers === 0 ? null : (gained + lost) / answers,
    ci95: lower === undefined || upper === undefined ? null : [lower, upper],
    pValue,
    scoreBefore: answers === 0 ? null : before / answers,
    scoreAfter: answers === 0 ? null : after / answers,
    isExposed: isControl ? answers > 0 && after >= before : (pValue ?? 1) < SIGNIFICANCE,
  };
}
