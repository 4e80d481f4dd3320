import { type ImagePart, ThriceError } from '@thrice/core';
import type * as z from 'zod';
import { type ChatCompletion, chatChunkSchema, mapOutput } from './chat-response.ts';

type Chunk = z.infer<typeof chatChunkSchema>;
type Delta = NonNullable<NonNullable<NonNullable<Chunk['choices']>[number]['delta']>>;
interface AssembledToolCall {
  id: string;
  readonly function: { name: string; arguments: string };
}

/** A streamed completion, assembled into the form of one that is not streamed. */
export interface AssembledStream {
  readonly raw: unknown;
  /** From `startedMs` to the first text, ms; null if there was none. */
  readonly ttftMs: number | null;
}

/**
 * Reads a stream to its end and assembles its chunks.
 *
 * @param startedMs - When the request was sent, by `performance.now()`.
 * @throws {ThriceError} `truncated-response` for a stream without a finish reason or with another kind of
 *   chunk. The stream itself throws for an error event.
 */
export async function assembleStream(
  stream: AsyncIterable<unknown>,
  startedMs: number,
): Promise<AssembledStream> {
  const message = new AssembledMessage();
  let ttftMs: number | null = null;
  let model: string | null | undefined;
  let finishReason: string | null | undefined;
  let usage: ChatCompletion['usage'];
  for await (const raw of stream) {
    const chunk = parseChunk(raw);
    model ??= chunk.model;
    usage = chunk.usage ?? usage;
    const choice = chunk.choices?.[0];
    finishReason = choice?.finish_reason ?? finishReason;
    message.add(choice?.delta ?? {});
    if (ttftMs === null && message.hasText()) ttftMs = performance.now() - startedMs;
  }
  if (finishReason === undefined || finishReason === null) {
    throw new ThriceError({
      code: 'truncated-response',
      message: 'the stream ended without a finish reason',
    });
  }
  const choices = [{ message: message.build(), finish_reason: finishReason }];
  return { raw: { model, choices, usage }, ttftMs };
}

/** The message that the deltas of a stream add up to. */
class AssembledMessage {
  readonly #texts: Partial<Record<'content' | 'refusal' | 'reasoning', string>> = {};
  readonly #images: ImagePart[] = [];
  readonly #toolCalls = new Map<number, AssembledToolCall>();

  add(delta: Delta): void {
    const { text, refusal, reasoning, images } = mapOutput(delta);
    this.#append('content', text);
    this.#append('refusal', refusal);
    this.#append('reasoning', reasoning);
    this.#images.push(...images);
    for (const [position, piece] of (delta.tool_calls ?? []).entries()) {
      const index = piece.index ?? position;
      const call = this.#toolCalls.get(index) ?? { id: '', function: { name: '', arguments: '' } };
      this.#toolCalls.set(index, call);
      // Only arguments come in pieces. Some servers repeat the id and the name in every chunk.
      call.id ||= piece.id ?? '';
      call.function.name ||= piece.function?.name ?? '';
      call.function.arguments += piece.function?.arguments ?? '';
    }
  }

  hasText(): boolean {
    return Object.values(this.#texts).some((text) => text !== '');
  }

  build(): object {
    const { content, refusal, reasoning } = this.#texts;
    const toolCalls = [...this.#toolCalls.values()];
    return {
      content,
      refusal,
      reasoning,
      ...(this.#images.length > 0 && {
        images: this.#images.map(({ url }) => ({ type: 'image_url', image_url: { url } })),
      }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    };
  }

  #append(field: 'content' | 'refusal' | 'reasoning', text: string | null): void {
    if (text !== null) this.#texts[field] = (this.#texts[field] ?? '') + text;
  }
}

function parseChunk(raw: unknown): Chunk {
  const parsed = chatChunkSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new ThriceError({
    code: 'truncated-response',
    message: 'expected a chunk of a chat completion, received something else',
    cause: parsed.error,
  });
}
