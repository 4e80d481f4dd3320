import type { Select } from '../domain/benchmark-spec.ts';
import type { Question } from '../domain/question.ts';

/** Says of each question, in file order, whether it belongs to the subset. */
export type Selector = (question: Question) => boolean;

/**
 * A selector with its own counters: use a fresh one for each pass over the questions.
 *
 * In file order: `tags` filters, `start` skips that many of the rest, `per_tag` keeps the first few
 * of each value (questions without the tag are left out), `limit` ends it.
 *
 * @param select - Undefined selects every question.
 */
export function createSelector(select: Select | undefined): Selector {
  if (select === undefined) return () => true;
  const perValue = new Map<string, number>();
  let skipped = 0;
  let taken = 0;
  return (question) => {
    if (select.limit !== undefined && taken >= select.limit) return false;
    if (!hasTags(question, select.tags)) return false;
    if (skipped < select.start) {
      skipped += 1;
      return false;
    }
    if (select.per_tag !== undefined) {
      const value = question.tags[select.per_tag.tag];
      const count = value === undefined ? Number.POSITIVE_INFINITY : (perValue.get(value) ?? 0);
      if (value === undefined || count >= select.per_tag.limit) return false;
      perValue.set(value, count + 1);
    }
    taken += 1;
    return true;
  };
}

function hasTags(question: Question, tags: Select['tags']): boolean {
  return Object.entries(tags ?? {}).every(([tag, values]) => {
    const value = question.tags[tag];
    return value !== undefined && values.includes(value);
  });
}
