import { pythonText, WrittenNumber } from './python-text.ts';

/** What SPARKIT takes from the text of a model. */
export interface SparkitAnswer {
  readonly text: string;
  /** 0..1; SPARKIT takes 0.5 where the model states none. */
  readonly confidence: number;
}

const UNSTATED = 0.5;

/**
 * Reads an answer as SPARKIT's direct calls do, faults included: what is no JSON is the answer as a whole, with the
 * confidence 0.5, even if it is the beginning of an object that was cut off.
 *
 * @see https://github.com/JLSteenwyk/sparkit, services/eval_service/app/direct_call_runner.py (commit f34ff03)
 */
export function readSparkitAnswer(text: string): SparkitAnswer {
  const whole = text.trim();
  if (whole === '') return { text: '', confidence: 0 };
  const unread = { text: whole, confidence: UNSTATED };
  const fields = parseSparkitObject(whole);
  if (fields === undefined) return unread;
  const { answer_text: stated = '', answer_confidence: confidence = UNSTATED } = fields;
  const answer = pythonText(stated).trim();
  const number = toFloat(confidence);
  return answer === '' || number === undefined
    ? unread
    : { text: answer, confidence: clamp(number) };
}

/** What an answer says beside others. */
interface SparkitFields {
  readonly answer_text?: unknown;
  readonly answer_confidence?: unknown;
  readonly citations?: unknown;
}

/**
 * Parses the object from the first `{` to the last `}` of a text as Python does, which knows NaN and infinite numbers.
 *
 * @returns Numbers as {@link WrittenNumber}s; undefined for what is no object.
 */
export function parseSparkitObject(text: string): SparkitFields | undefined {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (from === -1 || to < from) return undefined;
  const json = text
    .slice(from, to + 1)
    .replace(/"(?:[^"\\]|\\.)*(?:"|$)|-?Infinity|NaN/gsu, (token) => NON_FINITE[token] ?? token);
  try {
    return JSON.parse(json, keepNumbers) as SparkitFields;
  } catch {
    return undefined;
  }
}

/** As texts, which become the same numbers and the same texts in Python. */
const NON_FINITE: Readonly<Record<string, string>> = {
  NaN: '"nan"',
  Infinity: '"inf"',
  '-Infinity': '"-inf"',
};

/** @param context - Of ECMAScript 2026: the number as it was written. */
function keepNumbers(
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  return typeof value === 'number' ? new WrittenNumber(context?.source ?? String(value)) : value;
}

/** Python's `float`; undefined where it fails. */
function toFloat(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof WrittenNumber) return Number(value.source);
  if (typeof value !== 'string') return undefined;
  const text = value.trim().toLowerCase();
  const [, sign = '', name] = /^([+-]?)(inf(?:inity)?|nan)$/.exec(text) ?? [];
  if (name !== undefined) {
    return name === 'nan' ? Number.NaN : Number(`${sign}Infinity`);
  }
  const digits = text.replace(/(?<=\d)_(?=\d)/g, '');
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/.test(digits) ? Number(digits) : undefined;
}

/** In Python, the least of 1 and NaN is 1. */
function clamp(confidence: number): number {
  return Number.isNaN(confidence) ? 1 : Math.max(0, Math.min(1, confidence));
}
