import { isWithin } from './quantity.ts';
import { NONE, type NumberReading, UNCLEAR } from './read-clause.ts';
import { readContent } from './read-content.ts';

/** The longest content that is read. */
const CONTENT_LENGTH = 2000;
/** Between two boxes that are two values of one answer. */
const BETWEEN_BOXES =
  /^[\s$\\(){},;:&]{0,12}(?:(?:\p{L}{1,12}[\s$]{1,3})?(?:and|or|und|et|y|ou|oder)[\s$\\(){}]{1,8})?$/iu;

/**
 * Reads the box whose mark ends at `at`.
 *
 * @param isCutOff - Whether a box without an end was cut off.
 */
export function readBox(text: string, at: number, isCutOff: boolean): NumberReading {
  const box = findBox(text, at);
  if (box === undefined) return NONE;
  if (!box.isClosed && isCutOff) return UNCLEAR;
  const content = box.content.replace(/[{}]/g, ' ').trim();
  // The prompt's own words, as in "put your answer in \boxed{}".
  if (/^(?:|\.{2,}|…|(?:your |the )?(?:final )?answer(?: here)?)$/i.test(content)) return NONE;
  // A factorial.
  if (/\d!/.test(content) && !content.includes('=')) return UNCLEAR;
  // "\boxed{20} percent"
  const after = /^[ $)]{0,4}(?:%|percent\b|pct\b|million\b|billion\b|trillion\b|thousand\b)/.exec(
    text.slice(box.end, box.end + 20),
  );
  return readContent(`${content}${after?.[0].replace(/[$)]/g, '') ?? ''}`);
}

interface Box {
  readonly content: string;
  readonly end: number;
  readonly isClosed: boolean;
}

function findBox(text: string, at: number): Box | undefined {
  const open = /^\s{0,3}\{/.exec(text.slice(at, at + 4));
  const start = at + (open?.[0].length ?? 0);
  if (!open) {
    const bare = /^ {0,3}[-+]?\d[\d.,]*/.exec(text.slice(at, at + 30))?.[0];
    return bare === undefined
      ? undefined
      : { content: bare, end: at + bare.length, isClosed: true };
  }
  let depth = 1;
  const last = Math.min(text.length, start + CONTENT_LENGTH);
  for (let index = start; index < last; index += 1) {
    if (text[index] === '{') depth += 1;
    if (text[index] === '}') depth -= 1;
    if (depth === 0) return { content: text.slice(start, index), end: index + 1, isClosed: true };
  }
  return { content: text.slice(start, last).split('\n', 1)[0] ?? '', end: last, isClosed: false };
}

/**
 * Returns whether two boxes are two answers, as in "\boxed{3} and \boxed{5}"; one that repeats the other is not
 * another.
 *
 * @param firstAt - Where the mark of the first box ends.
 * @param second - Where the mark of the second one starts and ends.
 */
export function areTwoAnswers(
  text: string,
  firstAt: number,
  second: { readonly start: number; readonly end: number },
): boolean {
  const box = findBox(text, firstAt);
  if (box === undefined || !BETWEEN_BOXES.test(text.slice(box.end, second.start))) return false;
  const [a, b] = [readBox(text, firstAt, false), readBox(text, second.end, false)];
  if (a.kind !== 'number' || b.kind !== 'number') return a.kind !== b.kind;
  return !isWithin(a.quantity, b.quantity, { absolute: 0, relative: 0 });
}
