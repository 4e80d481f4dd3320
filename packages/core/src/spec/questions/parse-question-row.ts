import { type Question, questionSchema } from '../../domain/question.ts';
import type { QuestionColumns } from '../../domain/question-columns.ts';
import { describeIssues, showValue } from '../describe-issues.ts';
import { suggestName } from '../nearest-name.ts';
import { isTable, mapColumns } from './map-columns.ts';
import { findBadValue, parseRowJson } from './parse-row-json.ts';
import { tagProblems } from './tag-problems.ts';

/** The names of each field, in any case; if a row has several for one field, the first counts. */
const FIELD_NAMES = {
  id: ['id', '_id'],
  question: ['question', 'input', 'prompt'],
  messages: ['messages'],
  target: ['target', 'answer', 'correct_answer'],
  choices: ['choices', 'options'],
  rubric: ['rubric'],
  attachments: ['attachments'],
  tags: ['tags'],
  metadata: ['metadata'],
} as const;
type FieldName = keyof typeof FIELD_NAMES;
/** Each name with its field and its place among the names of it. */
const NAMES: ReadonlyMap<string, { readonly field: FieldName; readonly rank: number }> = new Map(
  Object.entries(FIELD_NAMES).flatMap(([field, names]) =>
    names.map((name, rank) => [name, { field: field as FieldName, rank }] as const),
  ),
);
/** A name in another case counts after the same one in lower case, but before the next one. */
const OTHER_CASE = 0.5;
/** Top-level fields that are read as tags, in any case. */
const TAG_FIELDS = new Set([
  'domain',
  'category',
  'subtask',
  'subject',
  'topic',
  'difficulty',
  'level',
]);
/** Fields whose value is a list or a table: JSON, where a file only has texts. */
const STRUCTURED_FIELDS = ['messages', 'choices', 'attachments', 'tags', 'metadata'] as const;
/** Of the digest of a question, for an id: two of a million questions share one in 37 million such files. */
const ID_HEX_DIGITS = 16;

/** The question of a row, or its problems, one per line. */
export type ParsedRow =
  | {
      readonly question: Question;
      /** Present if the row had no id, and its question was given one from its content. */
      readonly hasDerivedId?: true;
      readonly problems?: never;
    }
  | {
      readonly question?: never;
      readonly hasDerivedId?: never;
      readonly problems: readonly string[];
    };

/** How rows are read. */
export interface RowReading {
  /** The columns that the spec maps to fields. */
  readonly columns?: QuestionColumns | undefined;
  /** SHA-256 in hex, for the ids of rows without one; without it they are a problem. */
  readonly digestText?: (text: string) => string;
}

/**
 * Converts a row of a question file, whatever its format, to a question.
 *
 * An alias counts only if the row lacks the field itself. Numbers become texts where a text is
 * expected. Unknown fields are kept under `metadata`, where prompt templates can use them. The id of a row
 * without one is made from all that may be asked: not from target, rubric and tags, so that correcting
 * those keeps it.
 */
export function parseQuestionRow(row: unknown, reading: RowReading = {}): ParsedRow {
  if (!isTable(row)) {
    return { problems: [`expected an object, received ${showValue(row)}`] };
  }
  const mapped =
    reading.columns === undefined
      ? { row, origins: new Map<string, string>(), problems: [] }
      : mapColumns(row, reading.columns);
  if (mapped.problems.length > 0) return { problems: mapped.problems };
  const draft = draftQuestion(mapped.row);
  const { fields } = draft;
  const derivedId = deriveId(fields, reading);
  if (derivedId !== undefined) fields['id'] = derivedId;
  const parsed = questionSchema.safeParse(fields);
  const problems = [
    ...draft.problems,
    ...(parsed.success ? [] : describeIssues(parsed.error, questionSchema, fields)),
    ...textProblems(fields, { keys: Object.keys(row), isTextEmpty: hasTextColumn(mapped.row) }),
  ];
  if (problems.length > 0 || !parsed.success) {
    const origins = new Map([...draft.origins, ...mapped.origins]);
    return { problems: problems.map((problem) => nameOrigin(problem, origins)) };
  }
  return derivedId === undefined
    ? { question: parsed.data }
    : { question: parsed.data, hasDerivedId: true };
}

interface Draft {
  readonly fields: Record<string, unknown>;
  /** The keys of fields that are called something else in the row. */
  readonly origins: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

function draftQuestion(row: Readonly<Record<string, unknown>>): Draft {
  const fields: Record<string, unknown> = {
    question: null,
    messages: null,
    target: null,
    choices: null,
    rubric: null,
  };
  const keys = fieldKeys(row);
  const origins = new Map<string, string>();
  for (const [key, field] of keys) {
    fields[field] = row[key];
    if (key !== field) origins.set(field, key);
  }
  for (const field of STRUCTURED_FIELDS) fields[field] = parseStructure(fields[field]);
  const columns = (fields['choices'] ?? null) === null ? choiceColumns(row) : [];
  if (columns.length > 0) fields['choices'] = columns.map((key) => row[key]);
  const tables = {
    // Keeps the name of each tag, also one that is then refused.
    tags: Object.create(null) as Record<string, unknown>,
    metadata: {} as Record<string, unknown>,
  };
  const problems = [
    ...addEntries('tags', fields['tags'], tables),
    ...addEntries('metadata', fields['metadata'], tables),
  ];
  const others = Object.entries(row).filter(
    ([key]) => !keys.has(key) && !isFieldName(key) && !columns.includes(key),
  );
  for (const [key, value] of others) {
    if (isImageColumn(key)) {
      const images = readImages(key, value);
      problems.push(...images.problems);
      fields['attachments'] ??= images.urls;
    } else tables[TAG_FIELDS.has(key.toLowerCase()) ? 'tags' : 'metadata'][key] = value;
  }
  fields['id'] = numberToText(fields['id']);
  fields['attachments'] = toAttachments(fields['attachments']);
  fields['target'] = toTargets(fields['target']);
  fields['choices'] = numbersToTexts(fields['choices']);
  fields['tags'] = toTags(tables.tags);
  problems.push(...tagProblems(tables.tags));
  fields['metadata'] = tables.metadata;
  return { fields, origins, problems };
}

/** The keys of a row that hold fields. A field's own name takes precedence, then its aliases in order. */
function fieldKeys(row: Readonly<Record<string, unknown>>): ReadonlyMap<string, FieldName> {
  const best = new Map<FieldName, { readonly key: string; readonly rank: number }>();
  for (const key of Object.keys(row)) {
    const name = NAMES.get(key) ?? NAMES.get(key.toLowerCase());
    if (name === undefined || (row[key] ?? null) === null) continue;
    const rank = NAMES.has(key) ? name.rank : name.rank + OTHER_CASE;
    if (rank < (best.get(name.field)?.rank ?? Number.POSITIVE_INFINITY)) {
      best.set(name.field, { key, rank });
    }
  }
  return new Map([...best].map(([field, { key }]) => [key, field]));
}

/** The columns `A`, `B` and so on, which hold the choices where tables have a column for each. */
function choiceColumns(row: Readonly<Record<string, unknown>>): readonly string[] {
  const columns: string[] = [];
  for (const column of 'ABCDEFGHIJ') {
    if ((row[column] ?? null) === null) break;
    columns.push(column);
  }
  return columns.length > 1 ? columns : [];
}

function isFieldName(key: string): boolean {
  return Object.hasOwn(FIELD_NAMES, key);
}

/** Reads a list or table that a file of texts holds as JSON; anything else is left to the schema. */
function parseStructure(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  const parsed = parseRowJson(value);
  return parsed.error === undefined && findBadValue(parsed.value) === undefined
    ? parsed.value
    : value;
}

function isImageColumn(key: string): boolean {
  return /^images?$/i.test(key);
}

/**
 * Reads a column that datasets name `image` or `images`. Whatever is in it is one, or the question would be asked
 * without it.
 */
function readImages(
  key: string,
  value: unknown,
): { readonly urls: readonly unknown[]; readonly problems: readonly string[] } {
  const urls = [value].flat().filter((url) => url !== null && url !== '');
  const other = urls.find((url) => typeof url !== 'string' || !url.startsWith('data:image/'));
  if (other === undefined) return { urls, problems: [] };
  const problem = `${key}: expected an image as a data URL (data:image/png;base64,...), received ${showValue(other)}; to send addresses, which the vendor fetches, write [columns] attachments = "${key}"; to send nothing, rename the column`;
  return { urls: [], problems: [problem] };
}

function deriveId(fields: Record<string, unknown>, { digestText }: RowReading): string | undefined {
  if ((fields['id'] ?? null) !== null || digestText === undefined) return undefined;
  const { question, messages, choices, attachments, metadata } = fields;
  const entries = Object.entries(metadata as object).sort(([a], [b]) => (a < b ? -1 : 1));
  const content = JSON.stringify([question, messages, choices, attachments ?? null, entries]);
  return `q-${digestText(content).slice(0, ID_HEX_DIGITS)}`;
}

/** Adds to a problem which column it is in, where that has another name than the field. */
function nameOrigin(problem: string, origins: ReadonlyMap<string, string>): string {
  const end = problem.indexOf(':');
  const origin = origins.get(/^\w*/.exec(problem)?.[0] ?? '');
  if (origin === undefined || end === -1) return problem;
  return `${problem.slice(0, end)} (from "${origin}")${problem.slice(end)}`;
}

function addEntries(
  name: 'tags' | 'metadata',
  entries: unknown,
  tables: Readonly<Record<'tags' | 'metadata', object>>,
): readonly string[] {
  if ((entries ?? null) !== null && !isTable(entries)) {
    return [`${name}: expected a table, received ${showValue(entries)}`];
  }
  Object.assign(tables[name], entries);
  return [];
}

/** Whether a row has a place for the text of its question, filled or not. */
function hasTextColumn(row: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(row).some(
    (key) => (NAMES.get(key) ?? NAMES.get(key.toLowerCase()))?.field === 'question',
  );
}

function textProblems(
  fields: Record<string, unknown>,
  { keys, isTextEmpty }: { readonly keys: readonly string[]; readonly isTextEmpty: boolean },
): readonly string[] {
  const { question, messages } = fields;
  if (question === null && messages === null) {
    if (isTextEmpty) return ['question: expected a text, received none'];
    const near = keys
      .map((key) => suggestName(key, ['question', 'messages']))
      .find((hint) => hint !== '');
    return [
      `question: expected a question or messages, received neither${near ?? ` (the row has ${keys.join(', ')}; say in [columns] which of them it is)`}`,
    ];
  }
  if (typeof question === 'string' && question.trim() === '') {
    return ['question: expected a text, received an empty one'];
  }
  return Array.isArray(messages) && messages.length === 0
    ? ['messages: expected at least one message, received none']
    : [];
}

/** A question without images has no list of them. */
function toAttachments(value: unknown): unknown {
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value) && value.length === 0) return undefined;
  return typeof value === 'string' ? [value] : value;
}

function toTargets(target: unknown): unknown {
  if (target === null || target === undefined) return null;
  // Without any accepted answer there is nothing to compare with: ungraded, not wrong.
  if (Array.isArray(target) && target.length === 0) return null;
  return numbersToTexts(Array.isArray(target) ? target : [target]);
}

/** Tags that a row leaves open are not tags. */
function toTags(tags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tags)
      .filter(([, value]) => value !== null)
      .map(([tag, value]) => [tag, numberToText(value)]),
  );
}

function numbersToTexts(values: unknown): unknown {
  return Array.isArray(values) ? values.map(numberToText) : values;
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
