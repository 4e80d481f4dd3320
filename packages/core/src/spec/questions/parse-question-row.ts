import { type Question, questionSchema } from '../../domain/question.ts';
import { describeIssues, showValue } from '../describe-issues.ts';
import { suggestName } from '../nearest-name.ts';

/** Other names that datasets give to our fields; where a row has two of one field, the first counts. */
const ALIASES: ReadonlyMap<string, keyof Question> = new Map([
  ['_id', 'id'],
  ['input', 'question'],
  ['prompt', 'question'],
  ['answer', 'target'],
  ['correct_answer', 'target'],
  ['options', 'choices'],
]);
/** Plain fields that are tags wherever they stand. */
const TAG_FIELDS = new Set([
  'domain',
  'category',
  'subtask',
  'subject',
  'topic',
  'difficulty',
  'level',
]);
const FIELDS = ['id', 'question', 'messages', 'target', 'choices', 'rubric', 'tags', 'metadata'];

/** A row read, or what is wrong with it, one line a problem. */
export type ParsedRow =
  | { readonly question: Question; readonly problems?: never }
  | { readonly question?: never; readonly problems: readonly string[] };

/**
 * Reads a dataset row into a question.
 *
 * Aliases are mapped where the row has no field of the proper name, numbers become texts where a text
 * is meant, and fields that no one knows are kept under `metadata`, where a prompt template can reach
 * them.
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
    if (key === 'attachments') problems.push('attachments: not supported by this version');
    else if (key === 'tags' || key === 'metadata') problems.push(...fill(key, value, tables));
    else if (field !== undefined) fields[field] = value;
    else tables[TAG_FIELDS.has(key) ? 'tags' : 'metadata'][key] = value;
  }
  fields['id'] = numberToText(fields['id']);
  fields['target'] = toTargets(fields['target']);
  fields['choices'] = numbersToTexts(fields['choices']);
  fields['tags'] = Object.fromEntries(
    Object.entries(tables.tags).map(([tag, value]) => [tag, numberToText(value)]),
  );
  fields['metadata'] = tables.metadata;
  return { fields, problems };
}

/** The field that a key of a row stands for: a field's own name goes before every other name. */
function fieldOf(key: string, row: object): string | undefined {
  if (FIELDS.includes(key)) return key;
  const field = ALIASES.get(key);
  if (field === undefined) return undefined;
  const aliases = [...ALIASES].filter(([, meant]) => meant === field).map(([name]) => name);
  const given = [field, ...aliases].find((name) => (Reflect.get(row, name) ?? null) !== null);
  return given === key ? field : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fill(
  name: 'tags' | 'metadata',
  given: unknown,
  tables: Readonly<Record<'tags' | 'metadata', object>>,
): readonly string[] {
  if (given !== null && !isRecord(given)) {
    return [`${name}: expected a table, received ${showValue(given)}`];
  }
  Object.assign(tables[name], given);
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

function toTargets(target: unknown): unknown {
  if (target === null || target === undefined) return null;
  // No accepted answer at all is nothing to compare with: such a question is ungraded, never wrong.
  if (Array.isArray(target) && target.length === 0) return null;
  return numbersToTexts(Array.isArray(target) ? target : [target]);
}

function numbersToTexts(values: unknown): unknown {
  return Array.isArray(values) ? values.map(numberToText) : values;
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
