import { assertNever, type Message, type MessageContent, type ModelRequest } from '@thrice/core';
import type OpenAI from 'openai';

type Body = Omit<OpenAI.ChatCompletionCreateParams, 'stream' | 'stream_options'>;
type ContentParts = (
  | OpenAI.ChatCompletionContentPartText
  | OpenAI.ChatCompletionContentPartImage
)[];

/** The body of a chat completion, without what only streaming adds. */
export function describeBody(request: ModelRequest): Body {
  const { model, messages, tools, temperature, maxTokens, lane, extraBody } = request;
  return {
    model,
    messages: messages.map(toChatMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map(toChatTool) }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { [lane.maxTokensField]: maxTokens }),
    ...extraBody,
  };
}

function toChatMessage(message: Message): OpenAI.ChatCompletionMessageParam {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: textOf(message.content) };
    case 'user':
      return { role: 'user', content: toChatContent(message.content) };
    case 'assistant': {
      const { toolCalls = [] } = message;
      const content = textOf(message.content);
      if (toolCalls.length === 0) return { role: 'assistant', content };
      return {
        role: 'assistant',
        content,
        tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
          id,
          type: 'function',
          function: { name, arguments: text },
        })),
      };
    }
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: message.toolCallId,
        content: textOf(message.content),
      };
    default:
      return assertNever(message);
  }
}

function toChatTool({
  name,
  description,
  parameters,
}: ModelRequest['tools'][number]): OpenAI.ChatCompletionTool {
  return {
    type: 'function',
    function: { name, parameters: { ...parameters }, ...(description && { description }) },
  };
}

function toChatContent(content: MessageContent): string | ContentParts {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    part.kind === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: part.url } },
  );
}

/** The protocol takes images from users only. */
function textOf(content: MessageContent): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');
}
