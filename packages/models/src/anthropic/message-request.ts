import {
  assertNever,
  type ImagePart,
  type Message,
  type MessageContent,
  type ModelRequest,
  type ToolCall,
} from '@thrice/core';
import { isRecord } from '../call/json-value.ts';
import { mergeBody } from '../call/merge-body.ts';
import { parseJson } from '../call/parse-json.ts';
import { textOf } from '../call/text-of.ts';

/**
 * Sent where a config says no `max_tokens`, which the protocol requires: the largest round number that the vendor's
 * own client sends without a stream (21,333 tokens may take its 10 minutes).
 *
 * @see `calculateNonstreamingTimeout` in `client.js` of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)
 */
const DEFAULT_MAX_TOKENS = 20_000;

type TextBlock = { readonly type: 'text'; readonly text: string };
type ImageBlock = { readonly type: 'image'; readonly source: object };
type Block =
  | TextBlock
  | ImageBlock
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: object;
    }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly content: string | readonly Block[];
    };
interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | readonly Block[];
}

/**
 * Builds the body of a message request.
 *
 * @throws {ThriceError} `invalid-request` for an image in a message of the system or the model.
 */
export function describeMessage(request: ModelRequest): object {
  const { model, tools, temperature, topP, maxTokens, stop, serviceTier } = request;
  const { system, messages } = toMessages(request.messages);
  const body = {
    model,
    messages,
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system === '' ? {} : { system }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toTool) }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    ...outputConfigOf(request),
  };
  return { ...mergeBody(body, request.extraBody), stream: request.isStreamed };
}

/**
 * How much the model reasons, and the form of its output. A schema has no name here.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11)
 */
function outputConfigOf({ reasoningEffort, outputSchema }: ModelRequest): object {
  if (reasoningEffort === undefined && outputSchema === undefined) return {};
  return {
    output_config: {
      ...(reasoningEffort !== undefined && { effort: reasoningEffort }),
      ...(outputSchema && { format: { type: 'json_schema', schema: outputSchema.schema } }),
    },
  };
}

/** Splits off the system messages, which the protocol has a field for. */
function toMessages(messages: readonly Message[]): {
  readonly system: string;
  readonly messages: readonly WireMessage[];
} {
  const systems: string[] = [];
  const rest: WireMessage[] = [];
  for (const message of messages) {
    switch (message.role) {
      case 'system':
        systems.push(textOf(message));
        break;
      case 'user':
        rest.push({ role: 'user', content: toContent(message.content) });
        break;
      case 'assistant':
        rest.push({ role: 'assistant', content: toTurn(message) });
        break;
      case 'tool':
        addResult(rest, message);
        break;
      default:
        assertNever(message);
    }
  }
  return { system: systems.join('\n\n'), messages: rest };
}

/** Adds the result of a call. Those of all calls of a turn belong into one message. */
function addResult(
  messages: WireMessage[],
  { toolCallId, content }: Extract<Message, { readonly role: 'tool' }>,
): void {
  const result: Block = {
    type: 'tool_result',
    tool_use_id: toolCallId,
    content: toContent(content),
  };
  const last = messages.at(-1);
  const blocks = last?.role === 'user' && typeof last.content !== 'string' ? last.content : [];
  const isOpen = blocks.length > 0 && blocks.every(({ type }) => type === 'tool_result');
  if (isOpen) messages.splice(-1, 1, { role: 'user', content: [...blocks, result] });
  else messages.push({ role: 'user', content: [result] });
}

/** A turn of the model. The vendor refuses an empty text block. */
function toTurn(message: Extract<Message, { readonly role: 'assistant' }>): WireMessage['content'] {
  const text = textOf(message);
  const calls = (message.toolCalls ?? []).map(toToolUse);
  if (calls.length === 0) return text;
  return text === '' ? calls : [{ type: 'text', text }, ...calls];
}

/** The protocol carries arguments as an object; what a model wrote may be none. */
function toToolUse({ id, name, arguments: text }: ToolCall): Block {
  const input = parseJson(text);
  return { type: 'tool_use', id, name, input: isRecord(input) ? input : { arguments: text } };
}

function toTool({ name, description, parameters }: ModelRequest['tools'][number]): object {
  return { name, input_schema: { ...parameters }, ...(description && { description }) };
}

function toContent(content: MessageContent): string | Block[] {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.kind === 'text' ? { type: 'text', text: part.text } : toImageBlock(part),
  );
}

/** A data URL becomes its bytes and their type; the vendor fetches any other URL itself. */
function toImageBlock({ url }: ImagePart): ImageBlock {
  const mark = ';base64,';
  const markAt = url.startsWith('data:') ? url.indexOf(mark) : -1;
  if (markAt < 0) return { type: 'image', source: { type: 'url', url } };
  const mediaType = url.slice('data:'.length, markAt);
  const data = url.slice(markAt + mark.length);
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}
