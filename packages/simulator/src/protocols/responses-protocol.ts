import {
  type AnswerBody,
  jsonBody,
  namedEvent,
  type RenderInput,
  splitAnswer,
  tokensOf,
} from '../answer-body.ts';
import { type ApiError, errorObject, invalidRequest, isApiError } from '../api-error.ts';
import {
  contentsOf,
  type PromptRequest,
  parseFields,
  readConfidenceRequest,
  readField,
  readLimit,
  readPrompt,
} from '../prompt-request.ts';
import type { ServedProtocol } from './served-protocol.ts';

/**
 * The parameters of a request; any other is refused.
 *
 * @see `ResponseCreateParamsBase` in the types of the `openai` package 7.55.0
 */
const PARAMETERS = new Set([
  'access_programs',
  'background',
  'context_management',
  'conversation',
  'image',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'model',
  'moderation',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]);

/** OpenAI's responses. Those in the background are polled at `BackgroundResponses`. */
export const responsesProtocol: ServedProtocol = {
  path: '/v1/responses',
  parse: parseResponse,
  render: (input, { isStream }) =>
    isStream ? renderEvents(input) : jsonBody(describeResponse(input), tokensOf(input)),
  describeError: errorObject,
  errorEvent: ({ code, message }) =>
    namedEvent({ type: 'error', code, message, param: null, sequence_number: 0 }),
};

function parseResponse(body: string): PromptRequest | ApiError {
  const fields = parseFields(body);
  if (isApiError(fields)) return fields;
  const unknown = Object.keys(fields).find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) {
    return invalidRequest(`Unknown parameter: '${unknown}'.`, 'unknown_parameter');
  }
  const { input, background, store, stream } = fields;
  const isBackground = background === true;
  // The vendor's guide: "Background sampling requires `store=true`; stateless requests are rejected." The words of its
  // refusal were not to be found. https://platform.openai.com/docs/guides/background (2025-10)
  if (isBackground && store === false) {
    return invalidRequest('Background mode requires store to be true.');
  }
  if (isBackground && stream === true) {
    return invalidRequest('Streams in background mode are not simulated.');
  }
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  if (!Array.isArray(messages) || messages.length === 0) {
    return invalidRequest("Missing required parameter: 'input'.", 'missing_required_parameter');
  }
  return {
    model: String(fields['model']),
    ...readPrompt(messages),
    confidence: readConfidenceRequest(readField(fields['text'], 'format'), contentsOf(messages)),
    maxTokens: readLimit(fields['max_output_tokens']),
    isStream: stream === true,
    isBackground,
    includesUsage: true,
  };
}

/** How far a response is. */
export type ResponseStatus = 'queued' | 'in_progress' | 'ended' | 'cancelled';

/** Describes a response; it has an output and tokens once it has ended. */
export function describeResponse(input: RenderInput, state: ResponseStatus = 'ended') {
  const { answer, hasAnswer, id, model, createdSeconds } = input;
  const isEnded = state === 'ended';
  const isWhole = answer.finishReason === 'stop';
  const ended = isWhole ? 'completed' : 'incomplete';
  const reason = answer.finishReason === 'length' ? 'max_output_tokens' : answer.finishReason;
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdSeconds,
    status: state === 'ended' ? ended : state,
    error: null,
    incomplete_details: isWhole || !isEnded ? null : { reason },
    instructions: null,
    metadata: {},
    model,
    ...(hasAnswer && { output: isEnded ? [describeItem(input, ended)] : [] }),
    parallel_tool_calls: true,
    store: false,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: isEnded ? usageOf(input) : null,
  };
}

function describeItem({ answer, id }: RenderInput, status: string) {
  return {
    id: `msg_${id}`,
    type: 'message',
    status,
    role: 'assistant',
    content: status === 'in_progress' ? [] : [describePart(answer.text)],
  };
}

function describePart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function usageOf({ answer, promptTokens }: RenderInput) {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: answer.completionTokens,
    output_tokens_details: { reasoning_tokens: answer.reasoningTokens },
    total_tokens: promptTokens + answer.completionTokens,
  };
}

/** Renders the events of a streamed response; the last one carries all of it. */
function renderEvents(input: RenderInput): AnswerBody {
  const { answer, hasAnswer, id } = input;
  const pieces: string[] = [];
  const add = (type: string, fields: object) => {
    pieces.push(namedEvent({ type, sequence_number: pieces.length, ...fields }));
  };
  add('response.created', { response: describeResponse(input, 'in_progress') });
  if (hasAnswer) {
    const at = { item_id: `msg_${id}`, output_index: 0, content_index: 0 };
    const item = describeItem(input, 'in_progress');
    add('response.output_item.added', { output_index: 0, item });
    add('response.content_part.added', { ...at, part: describePart('') });
    for (const delta of splitAnswer(answer)) {
      add('response.output_text.delta', { ...at, delta, logprobs: [] });
    }
    add('response.output_text.done', { ...at, text: answer.text, logprobs: [] });
    add('response.content_part.done', { ...at, part: describePart(answer.text) });
    add('response.output_item.done', { output_index: 0, item: describeItem(input, 'completed') });
  }
  const response = describeResponse(input);
  add(`response.${response.status}`, { response });
  return { contentType: 'text/event-stream', pieces, tokens: tokensOf(input) };
}
