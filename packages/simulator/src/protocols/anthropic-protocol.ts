import type { IncomingHttpHeaders } from 'node:http';
import {
  type AnswerBody,
  jsonBody,
  namedEvent,
  type RenderInput,
  splitAnswer,
  tokensOf,
} from '../answer-body.ts';
import { type ApiError, invalidRequest, isApiError } from '../api-error.ts';
import {
  contentsOf,
  type Fields,
  isRecord,
  type PromptRequest,
  parseFields,
  readConfidenceRequest,
  readContent,
  readField,
  readLimit,
  readPrompt,
} from '../prompt-request.ts';
import type { ServedFinishReason } from '../simulated-model.ts';
import type { ServedProtocol } from './served-protocol.ts';

/**
 * The parameters of a request; any other is refused.
 *
 * @see `MessageCreateParamsBase` in the types of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)
 */
const PARAMETERS = new Set([
  'cache_control',
  'container',
  'diagnostics',
  'inference_geo',
  'max_tokens',
  'messages',
  'metadata',
  'model',
  'output_config',
  'service_tier',
  'speed',
  'stop_sequences',
  'stream',
  'system',
  'thinking',
  'tool_choice',
  'tools',
  'user_profile_id',
  'workspace_id',
]);

/**
 * Parameters of the first version alone.
 *
 * @see https://platform.claude.com/docs/en/api/versioning (2026-11)
 */
const SAMPLING_PARAMETERS = new Set(['temperature', 'top_p', 'top_k']);
const FIRST_VERSION = '2023-06-01';

const STOP_REASONS: Readonly<Record<ServedFinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  content_filter: 'refusal',
};

/** The type of an error, by its status: https://platform.claude.com/docs/en/api/errors (2026-11). */
const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [529, 'overloaded_error'],
]);

/** Anthropic's messages. */
export const anthropicProtocol: ServedProtocol = {
  path: '/v1/messages',
  parse: parseMessage,
  render: (input, { isStream }) =>
    isStream ? renderEvents(input) : jsonBody(describeMessage(input), tokensOf(input)),
  describeError,
  errorEvent: (error) => namedEvent(describeError(error)),
};

function describeError({ status, message }: ApiError) {
  const type = ERROR_TYPES.get(status) ?? 'api_error';
  return { type: 'error', error: { type, message }, request_id: null };
}

function parseMessage(body: string, headers: IncomingHttpHeaders): PromptRequest | ApiError {
  const version = headers['anthropic-version'];
  if (version === undefined) return invalidRequest('anthropic-version: header is required');
  const fields = parseFields(body);
  if (isApiError(fields)) return fields;
  const problem = findProblem(fields, version === FIRST_VERSION);
  if (problem !== undefined) return invalidRequest(problem);
  const { system, messages, stream } = fields;
  const prompt = readPrompt(messages as readonly unknown[]);
  return {
    model: String(fields['model']),
    ...prompt,
    confidence: readConfidenceRequest(readField(fields['output_config'], 'format'), [
      system,
      ...contentsOf(messages as readonly unknown[]),
    ]),
    promptChars: prompt.promptChars + readContent(system).length,
    maxTokens: readLimit(fields['max_tokens']),
    isStream: stream === true,
    isBackground: false,
    includesUsage: true,
  };
}

/** Returns what the vendor would refuse, in its words; undefined for a request that it answers. */
function findProblem(fields: Fields, takesSampling: boolean): string | undefined {
  const { max_tokens: maxTokens, messages } = fields;
  const unknown = Object.keys(fields).find(
    (name) => !PARAMETERS.has(name) && !(takesSampling && SAMPLING_PARAMETERS.has(name)),
  );
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (maxTokens === undefined) return 'max_tokens: Field required';
  if (typeof maxTokens !== 'number' || maxTokens < 1) {
    return 'max_tokens: Input should be greater than or equal to 1';
  }
  if (!Array.isArray(messages)) return 'messages: Field required';
  if (messages.length === 0) return 'messages: at least one message is required';
  const isSystem = messages.some((message) => isRecord(message) && message['role'] === 'system');
  if (!isSystem) return undefined;
  return 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.';
}

function describeMessage(input: RenderInput, isEnded = true) {
  const { answer, hasAnswer, id, model } = input;
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    ...(hasAnswer && {
      content: isEnded ? [{ type: 'text', text: answer.text, citations: null }] : [],
    }),
    stop_reason: isEnded ? STOP_REASONS[answer.finishReason] : null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: usageOf(input, isEnded ? answer.completionTokens : FIRST_OUTPUT_TOKENS),
  };
}

/** What the first event of a stream reports. */
const FIRST_OUTPUT_TOKENS = 1;

function usageOf({ answer, promptTokens, isBatched }: RenderInput, outputTokens: number) {
  return {
    input_tokens: promptTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: Math.min(answer.reasoningTokens, outputTokens) },
    service_tier: isBatched === true ? 'batch' : 'standard',
  };
}

/** Renders the events of a streamed message. */
function renderEvents(input: RenderInput): AnswerBody {
  const { answer, hasAnswer, promptTokens } = input;
  const pieces = [namedEvent({ type: 'message_start', message: describeMessage(input, false) })];
  const add = (type: string, fields: object) => pieces.push(namedEvent({ type, ...fields }));
  if (hasAnswer) {
    const block = { type: 'text', text: '', citations: null };
    add('content_block_start', { index: 0, content_block: block });
    add('ping', {});
    for (const text of splitAnswer(answer)) {
      add('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
    }
    add('content_block_stop', { index: 0 });
  }
  const delta = { stop_reason: STOP_REASONS[answer.finishReason], stop_sequence: null };
  add('message_delta', { delta, usage: usageOf(input, answer.completionTokens) });
  add('message_stop', {});
  return {
    contentType: 'text/event-stream',
    pieces,
    tokens: tokensOf(input),
    reportingCount: pieces.length - 1,
    firstTokens: { inputTokens: promptTokens, outputTokens: FIRST_OUTPUT_TOKENS },
  };
}
