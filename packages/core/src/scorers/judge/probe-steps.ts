import type { Journal, JournalEntry } from '../../domain/call.ts';
import type { AnswerProbe } from './probes.ts';

const SEPARATOR = ':';
/** The steps of a probe that compares two answers, in both orders. */
export const COMPARISON_STEPS = ['swapped:own-first', 'swapped:own-second'] as const;

/** The step of a verdict on what a probe made of an answer: `padded:judge-1`. */
export function probeStep(probe: AnswerProbe, step: string): string {
  return `${probe}${SEPARATOR}${step}`;
}

/** Whether a step of a probe cell compares two answers. */
export function isComparison(step: string): boolean {
  return COMPARISON_STEPS.some((each) => each === step);
}

/** The verdicts on what one probe made of an answer, by the steps that they have in a grade cell. */
export function verdictsOf(probe: AnswerProbe, journal: Journal): Journal {
  const own = [...journal].filter(([step]) => step.startsWith(`${probe}${SEPARATOR}`));
  return new Map(
    own.map(([step, entry]): [string, JournalEntry] => [
      step.slice(probe.length + SEPARATOR.length),
      entry,
    ]),
  );
}
