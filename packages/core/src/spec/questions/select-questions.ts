import type { Select } from '../../domain/benchmark-spec.ts';
import type { Question } from '../../domain/question.ts';

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
  const hasRoom = createTagCap(select.per_tag);
  let toSkip = select.start;
  let room = select.limit ?? Number.POSITIVE_INFINITY;
  return (question) => {
    if (room === 0 || !hasTags(question, select.tags)) return false;
    if (toSkip > 0) {
      toSkip -= 1;
      return false;
    }
    if (!hasRoom(question)) return false;
    room -= 1;
    return true;
  };
}

/** Lets the first few questions of each value of a tag pass. */
function createTagCap(perTag: Select['per_tag']): Selector {
  if (perTag === undefined) return () => true;
  const counts = new Map<string, number>();
  return ({ tags }) => {
    const value = tags[perTag.tag];
    if (value === undefined) return false;
    const count = counts.get(value) ?? 0;
    if (count >= perTag.limit) return false;
    counts.set(value, count + 1);
    return true;
  };
}

function hasTags(question: Question, tags: Select['tags']): boolean {
  return Object.entries(tags ?? {}).every(([tag, values]) => {
    const value = question.tags[tag];
    return value !== undefined && values.includes(value);
  });
}
