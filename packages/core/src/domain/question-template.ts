import { ThriceError } from '../errors.ts';
import { renderChoices } from './choices.ts';
import { ownValue, type Question } from './question.ts';

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** The fields that a template names in double braces, in order. */
export function fieldsOf(template: string): readonly string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, field = '']) => field.trim());
}

/**
 * Renders a template for a question.
 *
 * @param textOf - The fields that are none of the question's; undefined for a field that is. @default there are none
 * @throws {ThriceError} `invalid-question` if the template names a field that the question lacks.
 */
export function renderTemplate(
  template: string,
  question: Question,
  textOf: (field: string) => string | undefined = () => undefined,
): string {
  return template.replace(
    PLACEHOLDER,
    (_, field: string) => textOf(field.trim()) ?? fieldText(question, field.trim()),
  );
}

/** The text of a conversation: each message after its role, or the only one as it is. */
function renderMessages({ id, messages }: Question): string {
  const texts = (messages ?? []).map(({ role, content }) => {
    if (typeof content === 'string') return { role, text: content };
    const parts = content.map((part) => {
      if (part.type === 'text') return part.text;
      throw new ThriceError({
        code: 'invalid-question',
        message: `question "${id}" has an image in its messages, which {{messages}} cannot place; leave out the prompt, or use attachments`,
      });
    });
    return { role, text: parts.join('') };
  });
  const [only, another] = texts;
  if (only !== undefined && another === undefined) return only.text;
  return texts.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
}

function fieldText(question: Question, field: string): string {
  if (field === 'question' && question.question !== null) return question.question;
  if (field === 'messages' && question.messages !== null) return renderMessages(question);
  if (field === 'choices' && question.choices !== null) return renderChoices(question.choices);
  const [, table, name = ''] = /^(tags|metadata)\.(.+)$/.exec(field) ?? [];
  const value = ownValue<unknown>(table === 'tags' ? question.tags : question.metadata, name);
  if (table !== undefined && value !== undefined && value !== null) {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }
  throw new ThriceError({
    code: 'invalid-question',
    message: `question "${question.id}" has no ${field}, which the prompt asks for; add it, or leave such questions out with select`,
  });
}
