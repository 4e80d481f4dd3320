import type { Config } from '../../domain/benchmark.ts';
import type { Select } from '../../domain/benchmark-spec.ts';
import { selectQuestions } from './check-questions.ts';
import type { QuestionSource } from './load-questions.ts';
import { createSelector } from './select-questions.ts';

/**
 * Counts the questions that both configs of each pair ask: each config may select its own.
 *
 * @param select - Of the benchmark; undefined selects every question.
 */
export async function countSharedQuestions(
  source: QuestionSource,
  select: Select | undefined,
  pairs: readonly (readonly [Config, Config])[],
): Promise<readonly number[]> {
  const selectors = pairs.map((pair) => pair.map((config) => createSelector(config.select)));
  const counts = pairs.map(() => 0);
  for await (const question of selectQuestions(source, select)) {
    for (const [index, both] of selectors.entries()) {
      // Each has to see every question.
      const asking = both.filter(({ includes }) => includes(question));
      if (asking.length === both.length) counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return counts;
}
