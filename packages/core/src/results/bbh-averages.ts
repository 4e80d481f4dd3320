import { mean } from '../statistics/mean.ts';
import type { NamedAverage, TagSummary } from './summary.ts';

const LOGICAL_DEDUCTION = ['three', 'five', 'seven'].map((n) => `logical_deduction_${n}_objects`);
const TRACKING = ['three', 'five', 'seven'].map((n) => `tracking_shuffled_objects_${n}_objects`);

/** The number of questions in a subtask, except for those in {@link OTHER_SIZES}. */
const USUAL_SIZE = 250;
const OTHER_SIZES: Readonly<Record<string, number>> = {
  causal_judgement: 187,
  penguins_in_a_table: 146,
  snarks: 178,
};

const NLP: readonly (readonly string[])[] = [
  'causal_judgement',
  'date_understanding',
  'disambiguation_qa',
  'formal_fallacies',
  'hyperbaton',
  'movie_recommendation',
  'penguins_in_a_table',
  'reasoning_about_colored_objects',
  'ruin_names',
  'salient_translation_error_detection',
  'snarks',
  'sports_understanding',
].map((subtask) => [subtask]);

const ALGORITHMIC: readonly (readonly string[])[] = [
  ['boolean_expressions'],
  ['dyck_languages'],
  ['geometric_shapes'],
  LOGICAL_DEDUCTION,
  ['multistep_arithmetic_two'],
  ['navigate'],
  ['object_counting'],
  ['temporal_sequences'],
  TRACKING,
  ['web_of_lies'],
  ['word_sorting'],
];

const ALL_SUBTASKS = [...NLP, ...ALGORITHMIC].flat();

/** The number of questions in a subtask; undefined for what is none. */
export function bbhSizeOf(subtask: string): number | undefined {
  return ALL_SUBTASKS.includes(subtask) ? (OTHER_SIZES[subtask] ?? USUAL_SIZE) : undefined;
}

/**
 * Computes the averages that are in use for BIG-Bench Hard, each under its own name.
 *
 * The paper weights 23 tasks equally, after averaging the three variants of logical_deduction and of
 * tracking_shuffled_objects into one task each. A paper average is null unless each of its subtasks
 * was run in full and every question has a score.
 *
 * @param bySubtask - The summaries of the values of tag `subtask`.
 * @see Suzgun et al. (2022), arXiv:2210.09261, table 2
 */
export function bbhAverages(bySubtask: Readonly<Record<string, TagSummary>>): NamedAverage[] {
  const present = Object.values(bySubtask);
  const scores = present.flatMap(({ score }) => (score === null ? [] : [score]));
  const scoreCount = present.reduce((sum, each) => sum + scoreCountOf(each), 0);
  const scoreSum = present.reduce((sum, each) => sum + (each.score ?? 0) * scoreCountOf(each), 0);
  const macroName = `mean over ${scores.length} of ${ALL_SUBTASKS.length} subtasks`;
  return [
    {
      name: 'paper-all-23',
      label: "paper's 23 tasks (variants averaged)",
      value: paperAverage(bySubtask, [...NLP, ...ALGORITHMIC]),
    },
    { name: 'paper-nlp-12', label: "paper's 12 NLP tasks", value: paperAverage(bySubtask, NLP) },
    {
      name: 'paper-algorithmic-11',
      label: "paper's 11 algorithmic tasks",
      value: paperAverage(bySubtask, ALGORITHMIC),
    },
    { name: 'macro', label: macroName, value: mean(scores) ?? null },
    {
      name: 'pooled',
      label: `pooled over ${scoreCount} answers`,
      value: scoreCount === 0 ? null : scoreSum / scoreCount,
    },
  ];
}

function paperAverage(
  bySubtask: Readonly<Record<string, TagSummary>>,
  tasks: readonly (readonly string[])[],
): number | null {
  const isComplete = tasks.flat().every((subtask) => hasEveryScore(bySubtask[subtask], subtask));
  if (!isComplete) return null;
  const perTask = tasks.map(
    (variants) => mean(variants.map((subtask) => bySubtask[subtask]?.score ?? 0)) ?? 0,
  );
  return mean(perTask) ?? null;
}

function hasEveryScore(summary: TagSummary | undefined, subtask: string): boolean {
  if (summary === undefined) return false;
  return summary.questions === bbhSizeOf(subtask) && scoreCountOf(summary) === summary.cells;
}

function scoreCountOf({ scored, unparsed, ruledWrong }: TagSummary): number {
  return scored + unparsed + ruledWrong;
}
