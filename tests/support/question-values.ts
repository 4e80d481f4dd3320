import type { QuestionValue } from '../../packages/core/src/compare/question-values.ts';

/** The values of a config by question: of each, those of its replicates, null where one has none. */
export function valuesOf(
  scores: Readonly<Record<string, readonly (number | null)[]>>,
  parts: Partial<QuestionValue> = {},
): ReadonlyMap<string, QuestionValue> {
  return new Map(
    Object.entries(scores).map(([id, replicates]) => {
      const known = replicates.filter((score) => score !== null);
      const sum = known.reduce((total, score) => total + score, 0);
      const squares = known.reduce((total, score) => total + score * score, 0);
      const { length: count } = known;
      const value = {
        sum,
        squares,
        count,
        cells: replicates.length,
        ruled: 0,
        tags: {},
        digest: undefined,
      };
      return [id, { ...value, ...parts }];
    }),
  );
}
