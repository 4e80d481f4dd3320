import type { Select } from '../../domain/benchmark-spec.ts';
import type { Question } from '../../domain/question.ts';

/** Returns whether a question belongs to a subset; call it for each question, in file order. */
export type Selector = (question: Question) => boolean;

/**
 * Creates a selector. It counts the questions it has seen, so create one for each pass.
 *
 * The rules apply in this order: `tags` filters, `start` skips that many of the remaining questions,
 * `per_tag` keeps the first few of each value (dropping questions without the tag), and `limit` caps
 * the total.
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

/** Selects the first few questions of each value of a tag. */
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
