import type { AnswerParser, StatedConfidence } from '../../domain/confidence.ts';
import { assertNever } from '../../errors.ts';
import { readSparkitAnswer } from '../sparkit/read-sparkit-answer.ts';
import { stripReasoning } from '../strip-reasoning.ts';
import { type ConfidenceScale, readRatio } from './read-ratio.ts';

/** What a model said, told apart from how sure it says it is. */
export interface StatedAnswer {
  /** The answer alone; the whole text where it cannot be told apart. */
  readonly answer: string;
  readonly stated: StatedConfidence;
}

/**
 * Reads the answer and the confidence in a text, in time in proportion to it.
 *
 * - `asked`: the text is a JSON object with `answer` and `confidence`; else has tags of these names; else has such an
 *   object in it; else a line `Confidence: ...`, without which the rest is the answer. The scale is 0 to 1.
 * - `hle`: the last such line, in percent. The answer is the whole text, as the authors' judge reads it.
 * - `sparkit`: as SPARKIT reads it, which never leaves a confidence unknown.
 */
export function readStatedAnswer(text: string, parser: AnswerParser): StatedAnswer {
  switch (parser) {
    case 'asked':
      return readAsked(stripReasoning(text));
    case 'hle':
      return { answer: text, stated: readLine(stripReasoning(text), 'percent').stated };
    case 'sparkit': {
      const { text: answer, confidence } = readSparkitAnswer(text);
      return { answer, stated: { confidence } };
    }
    default:
      return assertNever(parser);
  }
}

function readAsked(text: string): StatedAnswer {
  const whole = unfenced(text.trim());
  return (
    (whole.startsWith('{') ? readJson(whole) : undefined) ??
    readTags(text) ??
    readJson(lastObject(text)) ??
    readLine(text, 'ratio')
  );
}

const FENCE = '```';

/** The content of a text that is one block of code. */
function unfenced(text: string): string {
  const isBlock = text.startsWith(FENCE) && text.endsWith(FENCE);
  const from = text.indexOf('\n') + 1;
  return isBlock && from > 0 ? text.slice(from, -FENCE.length).trim() : text;
}

const OBJECT = /\{\s*"(?:answer|confidence)"\s*:/gu;

/** The last object in a text that begins with one of the fields; empty if there is none. */
function lastObject(text: string): string {
  const from = [...text.matchAll(OBJECT)].at(-1)?.index ?? text.length;
  const end = text.lastIndexOf('}') + 1;
  return text.slice(from, end > from ? end : undefined);
}

/** May end within the string. */
const ANSWER = /"answer"\s*:\s*"([^"\\]*(?:\\[\s\S][^"\\]*)*)("|\\?$)/u;
const CONFIDENCE = /"confidence"\s*:\s*("[^"\\]*"|[^,}\n]*)/u;

/** Reads an object as servers enforce it, or as models write it without that: with `.85`, `NaN`, or no end. */
function readJson(text: string): StatedAnswer | undefined {
  const fields = parseObject(text);
  if (fields !== undefined) {
    const { answer, confidence } = fields;
    if (answer === undefined) return undefined;
    const told = typeof answer === 'string' ? answer : JSON.stringify(answer);
    return { answer: told, stated: readRatio(confidence, 'ratio') };
  }
  const found = ANSWER.exec(text);
  if (found === null) return undefined;
  const [whole, answer = '', end] = found;
  const rest = text.slice(found.index + whole.length);
  const stated = (CONFIDENCE.exec(rest) ?? CONFIDENCE.exec(text.slice(0, found.index)))?.[1];
  return { answer: unescaped(answer, end !== '"'), stated: readRatio(stated, 'ratio') };
}

function parseObject(
  text: string,
): { readonly answer?: unknown; readonly confidence?: unknown } | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/** The text of a JSON string in which line breaks may stand as they are. */
function unescaped(text: string, isCutOff: boolean): string {
  const whole = isCutOff ? text.replace(/\\u[0-9a-f]{0,3}$/iu, '') : text;
  try {
    return JSON.parse(`"${whole.replace(/[\n\r\t]/gu, (mark) => ESCAPES[mark] ?? '')}"`) as string;
  } catch {
    return text;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Reads the last pair of each tag; one that is not closed ends with the other, or with the text. */
function readTags(text: string): StatedAnswer | undefined {
  const lower = text.toLowerCase();
  const confidence = lastTag(lower, 'confidence');
  const answer = lastTag(lower, 'answer');
  if (answer === undefined && confidence === undefined) return undefined;
  const within = (tag: Tag, other: Tag | undefined) => {
    const isBefore = other !== undefined && tag.closedAt === undefined && other.at > tag.at;
    return text.slice(tag.from, tag.closedAt ?? (isBefore ? other.at : undefined)).trim();
  };
  const stated = confidence && within(confidence, answer);
  return {
    answer: answer === undefined ? without(text, confidence) : within(answer, confidence),
    stated: readRatio(stated, 'ratio'),
  };
}

/** Where a tag and its content begin, and where it is closed and ends. */
interface Tag {
  readonly at: number;
  readonly from: number;
  readonly closedAt: number | undefined;
  readonly end: number;
}

function lastTag(lower: string, name: string): Tag | undefined {
  const at = lower.lastIndexOf(`<${name}>`);
  if (at === -1) return undefined;
  const from = at + name.length + 2;
  const closing = lower.indexOf(`</${name}>`, from);
  return closing === -1
    ? { at, from, closedAt: undefined, end: lower.length }
    : { at, from, closedAt: closing, end: closing + name.length + 3 };
}

function without(text: string, tag: Tag | undefined): string {
  return tag === undefined ? text : `${text.slice(0, tag.at)}${text.slice(tag.end)}`.trim();
}

const LINE = /^[ \t>#*_`-]*confidence(?:[ \t]+(?:score|level))?[ \t*_`]*:[ \t*_`]*([^\n]*)$/gimu;

/** Reads the last line that begins with "Confidence:". */
function readLine(text: string, scale: ConfidenceScale): StatedAnswer {
  const line = [...text.matchAll(LINE)].at(-1);
  if (line === undefined) return { answer: text, stated: readRatio(undefined, scale) };
  const rest = `${text.slice(0, line.index)}${text.slice(line.index + line[0].length)}`.trim();
  // Nothing but a confidence is no answer, and no empty one either.
  return { answer: rest === '' ? text : rest, stated: readRatio(line[1], scale) };
}
