import { isJudge, type ModelUse, type Role } from '../domain/benchmark.ts';
import { MAX_MEMBERS } from '../domain/benchmark-spec.ts';
import { renderChoices } from '../domain/choices.ts';
import { CONFIDENCE_REQUESTS } from '../domain/confidence.ts';
import type { ContentPart, Message } from '../domain/message.ts';
import type { Question, QuestionMessage } from '../domain/question.ts';
import { fieldsOf, renderTemplate } from '../domain/question-template.ts';
import { nearestName } from './nearest-name.ts';

/** What other tools call the question. */
const QUESTION_NAMES: ReadonlySet<string> = new Set(['input', 'prompt', 'query', 'text']);
const FIELD = /^(question|messages|choices|tags\.[^.]+|metadata\..+)$/;

/** The prompt of a judge that has none of its own. Groups do not store it: another text would ask otherwise in the same group. */
const JUDGE_PROMPT =
  'Do all of these answers to the same question come to the same final answer? Reply with YES or NO.';

/**
 * Returns the problems of a prompt template: placeholders that name no field of a question.
 *
 * @param answerCount - The number of answers that a judge's template may place.
 */
export function checkTemplate(template: string, answerCount = 0): string[] {
  const answers = answerFieldsOf(answerCount);
  return unknownFields(template, (field) => answers.includes(field), []);
}

/**
 * Returns the problems of the template of a scorer's judges.
 *
 * @param fields - Those that it has besides those of a question, and whether it needs them.
 */
export function checkJudgeTemplate(
  template: string,
  fields: Readonly<Record<string, 'required' | 'optional'>>,
): readonly string[] {
  const names = Object.keys(fields);
  const unknown = unknownFields(template, (field) => names.includes(field), names);
  if (unknown.length > 0) return unknown;
  const used = fieldsOf(template);
  return names
    .filter((name) => fields[name] === 'required' && !used.includes(name))
    .map((name) => `expected {{${name}}}, received a template without it`);
}

/** @param others - Names that a template may have besides those of a question, for the message. */
function unknownFields(
  template: string,
  isOther: (field: string) => boolean,
  others: readonly string[],
): string[] {
  return fieldsOf(template)
    .filter((field) => !FIELD.test(field) && !isOther(field))
    .map(
      (field) =>
        `unknown field {{${field}}}${suggestField(field, others)} (expected ${[...others, 'question', 'messages', 'choices', 'tags.NAME or metadata.NAME'].join(', ')})`,
    );
}

function suggestField(field: string, others: readonly string[]): string {
  if (QUESTION_NAMES.has(field.toLowerCase())) return '; did you mean {{question}}?';
  const near = nearestName(field, ['question', 'messages', 'choices', ...others]);
  return near === undefined ? '' : `; did you mean {{${near}}}?`;
}

/** Returns the first field of a template that stands in single braces, as other tools have them; undefined for none. */
export function singleBraceField(template: string): string | undefined {
  return /(?<!\{)\{(question|messages|choices)\}(?!\})/.exec(template)?.[1];
}

/** Whether a template has the question in it. */
export function usesQuestion(template: string): boolean {
  return fieldsOf(template).some((field) => field === 'question' || field === 'messages');
}

/** Whether a template has the choices in it. */
export function usesChoices(template: string): boolean {
  return fieldsOf(template).includes('choices');
}

/** Whether a judge's template has all of so many answers in it. */
export function usesAnswers(template: string, answerCount: number): boolean {
  const fields = fieldsOf(template);
  const [all = '', ...each] = answerFieldsOf(answerCount);
  return fields.includes(all) || each.every((field) => fields.includes(field));
}

function answerFieldsOf(answerCount: number): readonly string[] {
  if (answerCount === 0) return [];
  return ['answers', ...Array.from({ length: answerCount }, (_, index) => `answer_${index + 1}`)];
}

/** What a prompt is rendered of. */
type Asking = Pick<ModelUse, 'system' | 'prompt' | 'confidence'>;

/**
 * Renders the messages of a call for a question.
 *
 * Without a template, sends the question's own messages, or its text with any choices below it as
 * `(A) ...` lines. The images of the question follow the prompt, in its last message of the user.
 *
 * @throws {ThriceError} `invalid-question` if the template names a field that the question lacks.
 */
export function renderPrompt(asking: Asking, question: Question): readonly Message[] {
  return [...systemOf(asking), ...attachImages(renderQuestion(asking, question), question)];
}

/**
 * Renders the messages of a judge, which compares answers: without the images of the question.
 *
 * @throws {ThriceError} `invalid-question` if the template names a field that the question lacks.
 */
export function renderJudgePrompt(
  asking: Asking,
  question: Question,
  answers: readonly string[],
): readonly Message[] {
  const template = asking.prompt ?? defaultJudgePrompt(question);
  const content = renderTemplate(template, question, (field) => answerText(field, answers));
  return [...systemOf(asking), { role: 'user', content }];
}

const NO_ANSWERS: readonly string[] = Array.from({ length: MAX_MEMBERS }, () => '');

/**
 * Renders the messages of a role before anything is answered: those of a judge with empty answers.
 *
 * @throws {ThriceError} `invalid-question` if the template names a field that the question lacks.
 */
export function renderUnanswered(role: Role, question: Question): readonly Message[] {
  return isJudge(role)
    ? renderJudgePrompt(role, question, NO_ANSWERS)
    : renderPrompt(role, question);
}

function defaultJudgePrompt({ messages, choices }: Question): string {
  const asked = messages === null ? '{{question}}' : '{{messages}}';
  const parts = [JUDGE_PROMPT, `Question:\n${asked}`];
  if (choices !== null) parts.push('{{choices}}');
  return [...parts, '{{answers}}'].join('\n\n');
}

function systemOf({ system, confidence }: Asking): readonly Message[] {
  const parts = [system, confidence && CONFIDENCE_REQUESTS[confidence]];
  const said = parts.filter((part) => part !== undefined);
  return said.length === 0 ? [] : [{ role: 'system', content: said.join('\n\n') }];
}

function renderQuestion(asking: Asking, question: Question): readonly Message[] {
  if (asking.prompt !== undefined) {
    return [{ role: 'user', content: renderTemplate(asking.prompt, question) }];
  }
  if (question.messages !== null) return question.messages.map(toMessage);
  const parts = [question.question ?? ''];
  if (question.choices !== null) parts.push(renderChoices(question.choices));
  return [{ role: 'user', content: parts.join('\n\n') }];
}

function toMessage({ role, content }: QuestionMessage): Message {
  if (typeof content === 'string') return { role, content };
  const parts = content.map(
    (part): ContentPart =>
      part.type === 'text'
        ? { kind: 'text', text: part.text }
        : { kind: 'image', url: part.image_url.url },
  );
  return { role, content: parts };
}

function attachImages(
  messages: readonly Message[],
  { attachments = [] }: Question,
): readonly Message[] {
  const images = attachments.map((url): ContentPart => ({ kind: 'image', url }));
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const message = messages[last];
  if (images.length === 0 || message?.role !== 'user') return messages;
  const { content } = message;
  const parts: readonly ContentPart[] =
    typeof content === 'string' ? [{ kind: 'text', text: content }] : content;
  return messages.with(last, { role: 'user', content: [...parts, ...images] });
}

function answerText(field: string, answers: readonly string[]): string | undefined {
  if (field === 'answers' && answers.length > 0)
    return answers.map((answer, index) => `Answer ${index + 1}:\n${answer}`).join('\n\n');
  return answers[answerFieldsOf(answers.length).indexOf(field) - 1];
}
