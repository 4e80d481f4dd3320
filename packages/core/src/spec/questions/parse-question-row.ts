import { type Question, questionSchema } from '../../domain/question.ts';
import { describeIssues, showValue } from '../describe-issues.ts';
import { suggestName } from '../nearest-name.ts';

/** Names that datasets use for our fields; if a row has several for one field, the first counts. */
const ALIASES: ReadonlyMap<string, keyof Question> = new Map([
  ['_id', 'id'],
  ['input', 'question'],
  ['prompt', 'question'],
  ['answer', 'target'],
  ['correct_answer', 'target'],
  ['options', 'choices'],
]);
/** Top-level fields that are read as tags. */
const TAG_FIELDS = new Set([
  'domain',
  'category',
  'subtask',
  'subject',
  'topic',
  'difficulty',
  'level',
]);
const FIELDS = [
  'id',
  'question',
  'messages',
  'target',
  'choices',
  'rubric',
  'attachments',
  'tags',
  'metadata',
];

/** The question of a row, or its problems, one per line. */
export type ParsedRow =
  | { readonly question: Question; readonly problems?: never }
  | { readonly question?: never; readonly problems: readonly string[] };

/**
 * Converts a dataset row to a question.
 *
 * An alias counts only if the row lacks the field itself. Numbers become texts where a text is
 * expected. Unknown fields are kept under `metadata`, where prompt templates can use them.
 */
export function parseQuestionRow(row: unknown): ParsedRow {
  if (!isRecord(row)) {
    return { problems: [`expected an object, received ${showValue(row)}`] };
  }
  const draft = draftQuestion(row);
  const parsed = questionSchema.safeParse(draft.fields);
  const problems = [
    ...draft.problems,
    ...(parsed.success ? [] : describeIssues(parsed.error, questionSchema, draft.fields)),
    ...textProblems(draft.fields, Object.keys(row)),
  ];
  if (problems.length > 0 || !parsed.success) return { problems };
  return { question: parsed.data };
}

interface Draft {
  readonly fields: Record<string, unknown>;
  readonly problems: readonly string[];
}

function draftQuestion(row: object): Draft {
  const tables = { tags: {} as Record<string, unknown>, metadata: {} as Record<string, unknown> };
  const fields: Record<string, unknown> = {
    question: null,
    messages: null,
    target: null,
    choices: null,
    rubric: null,
  };
  const problems: string[] = [];
  for (const [key, value] of Object.entries(row)) {
    const field = fieldOf(key, row);
    if (key === 'tags' || key === 'metadata') problems.push(...addEntries(key, value, tables));
    else if (field !== undefined) fields[field] = value;
    else tables[TAG_FIELDS.has(key) ? 'tags' : 'metadata'][key] = value;
  }
  fields['id'] = numberToText(fields['id']);
  fields['attachments'] = emptyToUndefined(fields['attachments']);
  fields['target'] = toTargets(fields['target']);
  fields['choices'] = numbersToTexts(fields['choices']);
  fields['tags'] = Object.fromEntries(
    Object.entries(tables.tags).map(([tag, value]) => [tag, numberToText(value)]),
  );
  fields['metadata'] = tables.metadata;
  return { fields, problems };
}

/** The field that a key of a row stands for; the field's own name takes precedence over aliases. */
function fieldOf(key: string, row: object): string | undefined {
  if (FIELDS.includes(key)) return key;
  const field = ALIASES.get(key);
  if (field === undefined) return undefined;
  const aliases = [...ALIASES].filter(([, target]) => target === field).map(([name]) => name);
  const used = [field, ...aliases].find((name) => (Reflect.get(row, name) ?? null) !== null);
  return used === key ? field : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function addEntries(
  name: 'tags' | 'metadata',
  entries: unknown,
  tables: Readonly<Record<'tags' | 'metadata', object>>,
): readonly string[] {
  if (entries !== null && !isRecord(entries)) {
    return [`${name}: expected a table, received ${showValue(entries)}`];
  }
  Object.assign(tables[name], entries);
  return [];
}

function textProblems(fields: Record<string, unknown>, keys: readonly string[]): readonly string[] {
  const { question, messages } = fields;
  if (question === null && messages === null) {
    const near = keys
      .map((key) => suggestName(key, ['question', 'messages']))
      .find((hint) => hint !== '');
    return [`question: expected a question or messages, received neither${near ?? ''}`];
  }
  if (typeof question === 'string' && question.trim() === '') {
    return ['question: expected a text, received an empty one'];
  }
  return Array.isArray(messages) && messages.length === 0
    ? ['messages: expected at least one message, received none']
    : [];
}

/** A question without images has no list of them. */
function emptyToUndefined(attachments: unknown): unknown {
  const isEmpty = attachments === null || (Array.isArray(attachments) && attachments.length === 0);
  return isEmpty ? undefined : attachments;
}

function toTargets(target: unknown): unknown {
  if (target === null || target === undefined) return null;
  // Without any accepted answer there is nothing to compare with: ungraded, not wrong.
  if (Array.isArray(target) && target.length === 0) return null;
  return numbersToTexts(Array.isArray(target) ? target : [target]);
}

function numbersToTexts(values: unknown): unknown {
  return Array.isArray(values) ? values.map(numberToText) : values;
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
