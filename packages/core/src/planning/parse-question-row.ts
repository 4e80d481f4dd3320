import { type Question, questionSchema } from '../domain/question.ts';
import { describeIssues, showValue } from './describe-issues.ts';
import { suggestName } from './nearest-name.ts';

/** Other names that datasets give to our fields. */
const ALIASES: Readonly<Record<string, keyof Question>> = {
  _id: 'id',
  input: 'question',
  prompt: 'question',
  answer: 'target',
  correct_answer: 'target',
  options: 'choices',
};
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
 * Aliases are mapped, numbers become texts where a text is meant, and fields that no one knows are
 * kept under `metadata`, where a prompt template can reach them.
 */
export function parseQuestionRow(row: unknown): ParsedRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
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
  const tags: Record<string, unknown> = {};
  const metadata: Record<string, unknown> = {};
  const fields: Record<string, unknown> = {
    question: null,
    messages: null,
    target: null,
    choices: null,
    rubric: null,
  };
  const problems: string[] = [];
  for (const [key, value] of Object.entries(row)) {
    if (key === 'attachments') problems.push('attachments: not supported by this version');
    else if (key === 'tags') Object.assign(tags, value);
    else if (key === 'metadata') Object.assign(metadata, value);
    else if (TAG_FIELDS.has(key)) tags[key] = value;
    else if (FIELDS.includes(ALIASES[key] ?? key)) fields[ALIASES[key] ?? key] = value;
    else metadata[key] = value;
  }
  fields['id'] = numberToText(fields['id']);
  fields['target'] = toTargets(fields['target']);
  fields['tags'] = Object.fromEntries(
    Object.entries(tags).map(([tag, value]) => [tag, numberToText(value)]),
  );
  fields['metadata'] = metadata;
  return { fields, problems };
}

function textProblems(fields: Record<string, unknown>, keys: readonly string[]): readonly string[] {
  const { question, messages } = fields;
  if (question === null && messages === null) {
    const near = keys.map((key) => suggestName(key, [])).find((hint) => hint !== '');
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
  return (Array.isArray(target) ? target : [target]).map(numberToText);
}

function numberToText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
