import {
  type AnswerBody,
  jsonBody,
  type RenderInput,
  splitAnswer,
  tokensOf,
} from '../answer-body.ts';
import { type ApiError, errorObject, invalidRequest, isApiError } from '../api-error.ts';
import {
  contentsOf,
  isRecord,
  type PromptRequest,
  parseFields,
  readConfidenceRequest,
  readLimit,
  readPrompt,
} from '../prompt-request.ts';
import type { ServedFinishReason } from '../simulated-model.ts';
import type { ServedProtocol } from './served-protocol.ts';

/** OpenAI's chat completions. */
export const chatProtocol: ServedProtocol = {
  path: '/v1/chat/completions',
  parse: parseChat,
  render: (input, { isStream, includesUsage }) =>
    isStream ? renderChunks(input, includesUsage) : renderCompletion(input),
  describeError: errorObject,
  errorEvent: (error) => `data: ${JSON.stringify(errorObject(error))}\n\n`,
};

/** Parses the body of a chat completion request. */
function parseChat(body: string): PromptRequest | ApiError {
  const fields = parseFields(body);
  if (isApiError(fields)) return fields;
  const { messages, stream, stream_options: streamOptions } = fields;
  if (!Array.isArray(messages) || messages.length === 0) {
    return invalidRequest("Missing required parameter: 'messages'.");
  }
  return {
    model: String(fields['model']),
    ...readPrompt(messages),
    confidence: readConfidenceRequest(fields['response_format'], contentsOf(messages)),
    maxTokens: readLimit(fields['max_completion_tokens'] ?? fields['max_tokens']),
    isStream: stream === true,
    isBackground: false,
    includesUsage: isRecord(streamOptions) && streamOptions['include_usage'] === true,
  };
}

function renderCompletion(input: RenderInput): AnswerBody {
  const { answer, hasAnswer, id, model, createdSeconds } = input;
  const choice = {
    index: 0,
    message: { role: 'assistant', content: answer.text, refusal: null },
    logprobs: null,
    finish_reason: answer.finishReason,
  };
  const completion = {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    ...(hasAnswer && { choices: [choice] }),
    usage: usageOf(input),
    system_fingerprint: 'fp_simulator',
  };
  return jsonBody(completion, tokensOf(input));
}

/**
 * Renders the server-sent events of a streamed answer: role, text, finish reason, `[DONE]`.
 *
 * @param includesUsage - Adds a last chunk with empty choices and the usage.
 */
function renderChunks(input: RenderInput, includesUsage: boolean): AnswerBody {
  const { answer, hasAnswer, id, model, createdSeconds } = input;
  const usage = includesUsage ? { usage: null } : {};
  const toEvent = (choices: readonly unknown[], extra: object = usage) => {
    const head = {
      id: `chatcmpl-${id}`,
      object: 'chat.completion.chunk',
      created: createdSeconds,
      model,
    };
    return `data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`;
  };
  const toChoice = (delta: object, finishReason: ServedFinishReason | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finishReason },
  ];

  const pieces: string[] = [];
  if (hasAnswer) {
    pieces.push(toEvent(toChoice({ role: 'assistant', content: '' })));
    for (const content of splitAnswer(answer)) {
      pieces.push(toEvent(toChoice({ content })));
    }
    pieces.push(toEvent(toChoice({}, answer.finishReason)));
  }
  if (includesUsage) pieces.push(toEvent([], { usage: usageOf(input) }));
  pieces.push('data: [DONE]\n\n');
  const tokens = includesUsage ? tokensOf(input) : undefined;
  // The last event, `[DONE]`, reports nothing.
  const reportingCount = pieces.length - 1;
  return { contentType: 'text/event-stream', pieces, tokens, reportingCount };
}

function usageOf({ answer, promptTokens }: RenderInput) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answer.completionTokens,
    total_tokens: promptTokens + answer.completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.reasoningTokens },
  };
}
