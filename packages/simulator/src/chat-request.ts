import { type ApiError, invalidRequest } from './api-error.ts';
import { type Arm, readQuestionText } from './question-text.ts';

/** The parts of a chat completion request that determine the answer. */
export interface ChatRequest {
  readonly model: string;
  /** Text of the last user message; `undefined` if there is none. */
  readonly userText: string | undefined;
  /** The question in that text, found by BBH's markers, or else the whole text, trimmed. */
  readonly question: string | undefined;
  readonly arm: Arm | undefined;
  /** Number of characters in all messages, for the token estimate. */
  readonly promptChars: number;
  readonly isStream: boolean;
  readonly includesUsage: boolean;
}

/**
 * Parses the body of a chat completion request.
 *
 * Written by hand instead of with a schema for speed: throughput benchmarks run it for every request.
 */
export function parseChatRequest(body: string): ChatRequest | ApiError {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return invalidRequest('We could not parse the JSON body of your request.');
  }
  if (!isRecord(parsed)) return invalidRequest('Expected the body to be a JSON object.');
  const model = parsed['model'];
  const messages = parsed['messages'];
  if (typeof model !== 'string' || model === '') {
    return invalidRequest("Missing required parameter: 'model'.");
  }
  if (!Array.isArray(messages) || messages.length === 0) {
    return invalidRequest("Missing required parameter: 'messages'.");
  }
  const { userText, promptChars } = readMessages(messages);
  const streamOptions = parsed['stream_options'];
  const found = userText === undefined ? undefined : readQuestionText(userText);
  return {
    model,
    userText,
    question: found?.question,
    arm: found?.arm,
    promptChars,
    isStream: parsed['stream'] === true,
    includesUsage: isRecord(streamOptions) && streamOptions['include_usage'] === true,
  };
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

/** Reads message content: a string, or a list of parts of which only text parts are used. */
function readContent(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) {
    if (isRecord(part) && typeof part['text'] === 'string') text += part['text'];
  }
  return text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
