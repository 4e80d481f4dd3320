/** The target of every question of {@link smallBenchmark}, and the default answer of a simulator. */
export const rightAnswer = '42';

/**
 * Builds the files of a benchmark against a running simulator: one lane, questions `q1`, `q2` and so on.
 *
 * The questions alternate between the topics `sums` and `words`.
 */
export function smallBenchmark({
  url,
  questionCount = 4,
  configs = ['a'],
  top = '',
  lane = '',
  more = '',
}: {
  /** The simulator's base URL. */
  readonly url: string;
  readonly questionCount?: number;
  readonly configs?: readonly string[];
  /** Additional spec lines: at the top, in the lane's table, and at the end. */
  readonly top?: string;
  readonly lane?: string;
  readonly more?: string;
}): Readonly<Record<'benchmark.toml' | 'questions.jsonl', string>> {
  const tables = configs.map(
    (name) => `[[configs]]\nname = "${name}"\nmodel = "lab/${name}"\nscorer = "includes"\n`,
  );
  const rows = Array.from({ length: questionCount }, (_, index) => ({
    id: `q${index + 1}`,
    question: `What is ${index + 1} and what is missing to 42?`,
    target: rightAnswer,
    tags: { topic: index % 2 === 0 ? 'sums' : 'words' },
  }));
  return {
    'benchmark.toml': `questions = "questions.jsonl"\n${top}\n[lanes.lab]\nbase_url = "${url}"\n${lane}\n${tables.join('')}${more}\n`,
    'questions.jsonl': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  };
}
