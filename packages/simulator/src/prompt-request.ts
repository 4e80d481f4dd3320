import { type ApiError, invalidRequest } from './api-error.ts';
import { type PromptArm, readQuestionText } from './question-text.ts';

/** How a confidence is asked for: by a schema of the output, or in tags. */
type ConfidenceRequest = 'structured' | 'tagged';

/** The parts of a request that determine its answer. */
export interface PromptRequest {
  readonly model: string;
  /** Text of the last user message; `undefined` if there is none. */
  readonly userText: string | undefined;
  /** The question in that text, found by BBH's markers, or else the whole text, trimmed. */
  readonly question: string | undefined;
  readonly arm: PromptArm | undefined;
  /** Number of characters in all messages, for the token estimate. */
  readonly promptChars: number;
  /** How a confidence is asked for. @default it is not */
  readonly confidence?: ConfidenceRequest | undefined;
  /** The most tokens that the answer may have, reasoning included; undefined for no limit. */
  readonly maxTokens: number | undefined;
  readonly isStream: boolean;
  /** The answer is not waited for: it will be asked for by its name. */
  readonly isBackground: boolean;
  /** A stream reports its tokens. */
  readonly includesUsage: boolean;
}

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Parses the body of a request, which names a model. */
export function parseFields(body: string): Fields | ApiError {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return invalidRequest('We could not parse the JSON body of your request.');
  }
  if (!isRecord(parsed)) return invalidRequest('Expected the body to be a JSON object.');
  const { model } = parsed;
  if (typeof model === 'string' && model !== '') return parsed;
  return invalidRequest("Missing required parameter: 'model'.");
}

/** Reads a limit of tokens; undefined for anything but a number. */
export function readLimit(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/**
 * How a request asks for a confidence.
 *
 * @param format - What it says of the form of the output, as far as it does.
 * @param texts - All that the model is told.
 */
export function readConfidenceRequest(
  format: unknown,
  texts: readonly unknown[],
): ConfidenceRequest | undefined {
  if (isRecord(format) && format['type'] === 'json_schema') return 'structured';
  return texts.some((text) => readContent(text).includes('<confidence>')) ? 'tagged' : undefined;
}

/** The contents of messages. */
export function contentsOf(messages: readonly unknown[]): readonly unknown[] {
  return messages.map((message) => (isRecord(message) ? message['content'] : undefined));
}

/** A field of an object; undefined for anything else. */
export function readField(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** The question of a request, found in its messages. */
export function readPrompt(
  messages: readonly unknown[],
): Pick<PromptRequest, 'userText' | 'question' | 'arm' | 'promptChars'> {
  const { userText, promptChars } = readMessages(messages);
  const found = userText === undefined ? undefined : readQuestionText(userText);
  return { userText, question: found?.question, arm: found?.arm, promptChars };
}

function readMessages(messages: readonly unknown[]): { userText?: string; promptChars: number } {
  let userText: string | undefined;
  let promptChars = 0;
  for (const message of messages) {
    if (!isRecord(message)) continue;
    const text = readContent(message['content']);
    promptChars += text.length;
    if (message['role'] === 'user') userText = text;
  }
  return userText === undefined ? { promptChars } : { userText, promptChars };
}

/** Reads the content of a message: a string, or a list of parts of which only text parts are used. */
export function readContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) {
    if (isRecord(part) && typeof part['text'] === 'string') text += part['text'];
  }
  return text;
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
