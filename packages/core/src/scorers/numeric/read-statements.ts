import { findStatements, type Statement } from './find-statements.ts';
import { readNumberWord } from './number-words.ts';
import { areTwoAnswers, readBox } from './read-box.ts';
import {
  NONE,
  type NumberReading,
  readSentence,
  readValue,
  startsWithValue,
  UNCLEAR,
} from './read-clause.ts';
import { readContent } from './read-content.ts';

/** The longest clause that is read. */
const CLAUSE_LENGTH = 2000;
/** Where a clause ends: with its line or its sentence, but not at the period of an abbreviation. */
const CLAUSE_END =
  /\n|[!?](?! ?=)(?=[\s"')*\]]|$)|(?<!\b(?:approx|ca|appr|vs|no|resp|e\.g|i\.e|U\.S|Rs))\.(?=[\s"')$*\]]|$)/iu;
const NO_ANSWER =
  /^[\s"'$:([{]*(?:undefined|no (?:real |such )?(?:solutions?|answer|number)|none|null|infinit|∞|[-+]∞|impossible|cannot|can't|can not|does not exist|doesn't exist|unknown|indeterminate|not enough|insufficient|n\/a)/iu;

/**
 * Reads what a text explicitly states as its answer: the last statement that names a number wins, whatever its
 * form. A correction ("actually 43") counts only after a statement that it can correct.
 *
 * @param isCutOff - Whether digits may be missing at the end of the text.
 */
export function readStatements(text: string, isCutOff: boolean): NumberReading {
  const statements = findStatements(text);
  let firstStated: number | undefined;
  for (const [index, statement] of [...statements.entries()].reverse()) {
    const reading = readStatement(text, statement, isCutOff);
    if (reading.kind === 'none') continue;
    if (statement.kind !== 'correction') {
      return isSecondBox(text, statements[index - 1], statement) ? UNCLEAR : reading;
    }
    firstStated ??= findFirstStated(text, statements);
    if (firstStated < index) return reading;
  }
  return NONE;
}

function findFirstStated(text: string, statements: readonly Statement[]): number {
  const index = statements.findIndex(
    (statement) =>
      statement.kind !== 'correction' && readStatement(text, statement, false).kind !== 'none',
  );
  return index === -1 ? statements.length : index;
}

function readStatement(text: string, statement: Statement, isCutOff: boolean): NumberReading {
  const { end, limit } = statement;
  if (end === limit) return NONE;
  const clause = text.slice(end, Math.min(limit, end + CLAUSE_LENGTH));
  // A clause that something follows is whole, whatever is missing after it.
  const isOpen = isCutOff && limit === text.length && !CLAUSE_END.test(clause.trimStart());
  switch (statement.kind) {
    case 'box':
      return readBox(text, end, isCutOff);
    case 'hashes':
      return ifComplete(readHashes(clause), text, isOpen);
    case 'field':
      return readField(clause, statement.mark);
    case 'tag':
      return readTag(clause);
    case 'reversed':
      return readReversed(text, statement.start);
    case 'correction':
      return startsWithValue(endClause(clause)) ? readValue(endClause(clause)) : NONE;
    case 'words':
      return ifComplete(readWords(clause, statement), text, isOpen);
  }
}

/** The last digits of a text that was cut off may be missing. */
function ifComplete(reading: NumberReading, text: string, isOpen: boolean): NumberReading {
  return isOpen && reading.kind === 'number' && reading.isAtEnd && /\d$/.test(text)
    ? UNCLEAR
    : reading;
}

function readWords(rest: string, { mark, link }: Statement): NumberReading {
  const lead = /^[\s:=*]{0,20}/.exec(rest)?.[0] ?? '';
  const clause = endClause(rest.slice(lead.length));
  if (link === '') return readBareMark(lead, clause, rest);
  if (startsWithValue(clause)) {
    const isList =
      lead.includes('\n') && isBareNumber(clause) && isBareNumber(nextLine(rest, lead, clause));
    return isList ? UNCLEAR : readValue(clause);
  }
  if (NO_ANSWER.test(clause)) return UNCLEAR;
  const word = readNumberWord(clause);
  if (word !== undefined) return word;
  if (lead.includes('\n')) return NONE;
  // "Answer: First, she ..." opens an explanation; "Final answer: she has 5" and "the answer is that ..." do not.
  return /\p{L}/u.test(link) || /final|最终/iu.test(mark) ? readSentence(clause) : NONE;
}

/** The line after a clause. */
function nextLine(rest: string, lead: string, clause: string): string {
  const [empty, line = ''] = rest.slice(lead.length + clause.length).split('\n', 2);
  return empty?.trim() === '' ? line : '';
}

function isBareNumber(line: string): boolean {
  return /^\s{0,9}-?\d[\d.,]{0,20}\s{0,9}$/.test(line);
}

/** A heading ("Final answer" and a line break), or a mark with nothing but its value. */
function readBareMark(lead: string, clause: string, rest: string): NumberReading {
  if (!startsWithValue(clause)) return NONE;
  if (lead.includes('\n')) return readValue(clause);
  const reading = readValue(clause);
  const isQuestion = rest.charAt(lead.length + clause.length) === '?';
  return reading.kind === 'number' && reading.isAtEnd && !isQuestion ? reading : NONE;
}

/** "#### 18", but not the heading "#### 3 ways to solve it" or "#### 1. Setup". */
function readHashes(rest: string): NumberReading {
  const line = rest.split('\n', 1)[0] ?? '';
  const isHeading = /\d[.):]\s+\p{L}/u.test(line) || line.trim().split(/\s+/).length > 5;
  if (isHeading || !startsWithValue(line)) return NONE;
  return readValue(line.replace(/[.\s]{1,20}$/, ''));
}

/** The value of a JSON field, in quotes or not. */
function readField(rest: string, mark: string): NumberReading {
  const quote = /["']$/.exec(mark)?.[0];
  const isValue = quote !== undefined && /["']\s*:\s*["']$/.test(mark);
  const value = isValue ? rest.split(quote, 1)[0] : /^(?:\[[^\]\n]*\]|[^,}\n]*)/.exec(rest)?.[0];
  return readContent(value ?? '');
}

function readTag(rest: string): NumberReading {
  return readContent(rest.split('</', 1)[0] ?? '');
}

/** "..., so 42 is the answer". */
function readReversed(text: string, start: number): NumberReading {
  const before = text.slice(Math.max(0, start - 200), start);
  const sentence = before.split(/\n|[.!?]\s/).at(-1) ?? '';
  return /\d[^\d\n]{0,30}$/.test(sentence) ? readSentence(sentence) : NONE;
}

function isSecondBox(text: string, before: Statement | undefined, statement: Statement): boolean {
  if (before?.kind !== 'box' || statement.kind !== 'box') return false;
  return areTwoAnswers(text, before.end, statement);
}

function endClause(clause: string): string {
  const end = clause.search(CLAUSE_END);
  return (end === -1 ? clause : clause.slice(0, end)).replace(/[{}]/g, ' ');
}
