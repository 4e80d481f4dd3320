import { showPath } from '../describe-issues.ts';

/** Of objects that are read again, JavaScript drops what they have under this key. */
const LOST_KEY = '__proto__';

/** Lists what is wrong with the tags of a question: results have tables whose keys are the names of tags and their values. */
export function tagProblems(tags: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(tags)
    .filter((entry) => entry.includes(LOST_KEY))
    .map(([name]) => {
      const what = name === LOST_KEY ? 'name' : 'text';
      return `${showPath(['tags', name])}: expected a ${what} that results can be listed by, received "${LOST_KEY}"; rename it`;
    });
}
