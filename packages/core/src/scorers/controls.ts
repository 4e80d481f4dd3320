import type { MetricDeclaration } from '../domain/grade.ts';
import type { Question } from '../domain/question.ts';

/** An answer without content, which a scorer ought to tell from one that has it. */
export interface Control {
  /** The metric that says how far an answer leads over it. */
  readonly metric: string;
  /** What it is, as the beginning of a sentence. */
  readonly label: string;
  text(question: Question): string;
  /** Sources that it cites. */
  readonly citationCount: number;
}

/**
 * Three answers without content: the question echoed with two citations, nothing, and the same choice every time.
 *
 * SPARKIT's rubric gives the first .7848 on the 149 questions of HLE Gold, more than any of the 19 systems of its
 * published table has, because their keywords come from the questions.
 */
export const controls: readonly Control[] = [
  {
    metric: 'lead_over_echo',
    label: 'the question echoed with two citations',
    text: echoOf,
    citationCount: 2,
  },
  { metric: 'lead_over_empty', label: 'an empty answer', text: () => '', citationCount: 0 },
  { metric: 'lead_over_constant', label: 'always "A"', text: () => 'A', citationCount: 0 },
];

/** The text of a question, images left out; empty without one. */
export function echoOf({ question, messages }: Question): string {
  if (question !== null) return question;
  return (messages ?? [])
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      typeof content === 'string'
        ? [content]
        : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    )
    .join('\n');
}

/** The metrics of a scorer that compares each answer with the controls. */
export const controlMetrics: readonly MetricDeclaration[] = controls.map(({ metric, label }) => ({
  name: metric,
  unit: 'score',
  better: 'higher',
  range: [-1, 1],
  control: label,
}));

/**
 * How far an answer leads over each control, by metric.
 *
 * @param score - Of the answer.
 * @param scoreOf - Of a control, by the same rubric.
 */
export function leadsOf(
  score: number,
  scoreOf: (control: Control) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(controls.map((control) => [control.metric, score - scoreOf(control)]));
}
