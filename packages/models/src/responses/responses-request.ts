import {
  assertNever,
  type Message,
  type MessageContent,
  type ModelRequest,
  type OutputSchema,
} from '@thrice/core';
import type OpenAI from 'openai';
import { mergeBody } from '../call/merge-body.ts';
import { textOf } from '../call/text-of.ts';

type Body = OpenAI.Responses.ResponseCreateParams;
type InputItem = OpenAI.Responses.ResponseInputItem;
type InputPart = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage;

/**
 * Builds the body of a response.
 *
 * Nothing is stored with the vendor, unless `extra_body` says so: a benchmark's questions are no conversation to
 * come back to.
 *
 * @throws {ThriceError} `invalid-request` for an image in a message of the system or the model.
 */
export function describeResponse(request: ModelRequest): object {
  return describe(request, { store: false });
}

/**
 * Builds the body of a response in the background. The vendor has to store it, or it is gone after 10 minutes, and the
 * worker that asked for it may be away for longer.
 *
 * @param callId - Stored with the response as metadata: at most 512 characters.
 * @throws {ThriceError} `invalid-request` for an image in a message of the system or the model.
 * @see https://developers.openai.com/api/docs/guides/background (2026-11)
 */
export function describeBackgroundResponse(request: ModelRequest, callId: string): object {
  return describe(request, { background: true, store: true, metadata: { thrice_call: callId } });
}

function describe(
  request: ModelRequest,
  storage: Pick<Body, 'background' | 'store' | 'metadata'>,
): object {
  const { model, messages, tools, temperature, topP, maxTokens } = request;
  const { serviceTier, reasoningEffort, outputSchema } = request;
  const body: Body = {
    model,
    input: messages.flatMap(toInputItems),
    ...storage,
    ...(tools.length === 0 ? {} : { tools: tools.map(toFunctionTool) }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier as 'auto' }),
    ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
    ...(outputSchema === undefined ? {} : { text: { format: formatOf(outputSchema) } }),
  };
  return { ...mergeBody({ ...body }, request.extraBody), stream: request.isStreamed };
}

function formatOf({ name, schema }: OutputSchema): OpenAI.Responses.ResponseFormatTextConfig {
  return { type: 'json_schema', name, schema: { ...schema }, strict: true };
}

function toInputItems(message: Message): InputItem[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: textOf(message) }];
    case 'user':
      return [{ role: 'user', content: toInputContent(message.content) }];
    case 'assistant': {
      const content = textOf(message);
      const calls = (message.toolCalls ?? []).map(
        ({ id, name, arguments: text }): InputItem => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: text,
        }),
      );
      if (content === '' && calls.length > 0) return calls;
      return [{ role: 'assistant', content }, ...calls];
    }
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: message.toolCallId,
          output: toInputContent(message.content),
        },
      ];
    default:
      return assertNever(message);
  }
}

/** Without `strict`, the vendor would change the schema of the arguments. */
function toFunctionTool({
  name,
  description,
  parameters,
}: ModelRequest['tools'][number]): OpenAI.Responses.FunctionTool {
  return {
    type: 'function',
    name,
    parameters: { ...parameters },
    strict: false,
    ...(description && { description }),
  };
}

function toInputContent(content: MessageContent): string | InputPart[] {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.kind === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: part.url, detail: 'auto' },
  );
}
