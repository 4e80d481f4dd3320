import type { Protocol } from '@thrice/core';
import { aChunk, aCompletion } from './http-server.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The bodies of a wire protocol, for what every protocol promises. All of them are of model `m`. */
export interface ProtocolBodies {
  readonly protocol: Protocol;
  /** 12 input tokens and 3 output tokens, as the protocol counts them. */
  readonly usage: Fields;
  /** A whole answer; `fields` replace those of its document. */
  answer(text: string, fields?: Fields): Fields;
  /** The events of a stream up to its first text. */
  begin(text: string): readonly unknown[];
  /** What {@link begin} is kept as. */
  begun(text: string): Fields;
  /** An answer of `4` by another model, that a content filter ended. */
  readonly filtered: Fields;
  /** Bodies that are JSON, but no answer, each with a name. */
  readonly others: readonly [string, unknown][];
  /** Counts that cannot be read, each with a name. */
  readonly unreadableUsages: readonly [string, unknown][];
  /** The header that carries a key. */
  keyHeader(key: string): readonly [string, string];
}

const chat: ProtocolBodies = {
  protocol: 'chat',
  usage: { prompt_tokens: 12, completion_tokens: 3 },
  answer: (content, fields) => aCompletion({ content }, fields),
  begin: (content) => [aChunk({ content })],
  begun: (content) => ({ choices: [{ message: { content } }] }),
  filtered: {
    model: 'cheaper',
    choices: [{ message: { content: '4' }, finish_reason: 'content_filter' }],
  },
  others: [
    ['no choices', { model: 'm' }],
    ['null for choices', { choices: null }],
    ['an object for choices', { choices: { message: { content: '42' } } }],
    ['null for a choice', { choices: [null] }],
    ['null for the message', { choices: [{ message: null }] }],
    ['an array for the message', { choices: [{ message: [] }] }],
    ['a number for the content', aCompletion({ content: 7 })],
    ['an object for the content', aCompletion({ content: { text: '42' } })],
    ['a number for the model', aCompletion({}, { model: 7 })],
    ['a number for the finish reason', { choices: [{ message: {}, finish_reason: 7 }] }],
  ],
  unreadableUsages: [
    ['counts of other types', { prompt_tokens: '12', completion_tokens: 1e30 }],
    ['negative and broken counts', { prompt_tokens: -1, completion_tokens: 1.5 }],
    ['details of other types', { prompt_tokens_details: [7], completion_tokens_details: 'x' }],
  ],
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
};

const responses: ProtocolBodies = {
  protocol: 'responses',
  usage: { input_tokens: 12, output_tokens: 3 },
  answer: (text, fields) => aResponse([aMessageItem(text)], fields),
  begin: (text) => [
    { type: 'response.created', response: { ...aResponse([]), status: 'in_progress' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text },
  ],
  begun: (text) => ({ output: [{ content: [{ text }] }] }),
  filtered: aResponse([aMessageItem('4')], {
    model: 'cheaper',
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
  }),
  others: [
    ['no output', { model: 'm', status: 'completed' }],
    ['null for the output', aResponse([], { output: null })],
    ['an object for the output', aResponse([], { output: aMessageItem('42') })],
    ['a response that has not ended', aResponse([], { status: 'in_progress' })],
  ],
  unreadableUsages: [
    ['counts of other types', { input_tokens: '12', output_tokens: 1e30 }],
    ['negative and broken counts', { input_tokens: -1, output_tokens: 1.5 }],
    ['details of other types', { input_tokens_details: [7], output_tokens_details: 'x' }],
  ],
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
};

const anthropic: ProtocolBodies = {
  protocol: 'anthropic',
  usage: { input_tokens: 12, output_tokens: 3 },
  answer: (text, fields) => aMessage([{ type: 'text', text }], fields),
  begin: (text) => [
    { type: 'message_start', message: aMessage([], { stop_reason: null }) },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  ],
  begun: (text) => ({ content: [{ text }] }),
  filtered: aMessage([{ type: 'text', text: '4' }], { model: 'cheaper', stop_reason: 'refusal' }),
  others: [
    ['no content', { model: 'm', stop_reason: 'end_turn' }],
    ['null for the content', aMessage([], { content: null })],
    ['an object for the content', aMessage([], { content: { type: 'text', text: '42' } })],
    ['a text for the content', aMessage([], { content: '42' })],
  ],
  unreadableUsages: [
    ['counts of other types', { input_tokens: '12', output_tokens: 1e30 }],
    ['negative and broken counts', { input_tokens: -1, output_tokens: 1.5 }],
    ['details of other types', { output_tokens_details: [7], cache_read_input_tokens: 'x' }],
  ],
  keyHeader: (key) => ['x-api-key', key],
};

/** The bodies of every wire protocol. */
export const protocolBodies: Readonly<Record<Protocol, ProtocolBodies>> = {
  chat,
  responses,
  anthropic,
};

/** A response of the responses protocol. */
export function aResponse(output: readonly unknown[], fields: Fields = {}): Fields {
  return { id: 'r1', object: 'response', status: 'completed', model: 'm', output, ...fields };
}

/** An item of a response: what the model says. */
export function aMessageItem(text: string): Fields {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] };
}

/** A message of the anthropic protocol. */
export function aMessage(content: readonly unknown[], fields: Fields = {}): Fields {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason: 'end_turn',
    ...fields,
  };
}
