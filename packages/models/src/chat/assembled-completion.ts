import type { ImagePart } from '@thrice/core';
import type * as z from 'zod';
import { unreadableEvent } from '../call/assemble-stream.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import type { StreamAssembly } from '../call/wire-protocol.ts';
import { chatChunkSchema, mapOutput } from './chat-response.ts';

type Chunk = z.infer<typeof chatChunkSchema>;
type Delta = NonNullable<NonNullable<NonNullable<Chunk['choices']>[number]['delta']>>;
interface AssembledToolCall {
  id: string;
  readonly function: { name: string; arguments: string };
}

/** The completion that the chunks of a stream add up to. */
export class AssembledCompletion implements StreamAssembly {
  readonly #message = new AssembledMessage();
  #model: string | null | undefined;
  #finishReason: string | null | undefined;
  #serviceTier: unknown;
  #usage: Readonly<Record<string, unknown>> | undefined;
  #hasChunk = false;

  add(raw: unknown): void {
    this.#addUsage(fieldOf(raw, 'usage'));
    this.#serviceTier = fieldOf(raw, 'service_tier') ?? this.#serviceTier;
    const parsed = chatChunkSchema.safeParse(raw);
    if (!parsed.success) throw unreadableEvent();
    const { model, choices } = parsed.data;
    // With `n` in the extra body, other answers arrive in chunks of their own.
    const choice = choices?.find(({ index }) => (index ?? 0) === 0);
    // Kimi's place: https://github.com/earendil-works/pi/issues/2017 (2026-03-10).
    this.#addUsage(choice?.usage);
    this.#hasChunk = true;
    this.#model ??= model;
    // Some servers send an empty reason with every chunk.
    this.#finishReason = choice?.finish_reason || this.#finishReason;
    this.#message.add(choice?.delta ?? {});
  }

  hasText(): boolean {
    return this.#message.hasText();
  }

  isFinished(): boolean {
    return this.#finishReason !== undefined && this.#finishReason !== null;
  }

  build(error: unknown): object {
    const choice = { message: this.#message.build(), finish_reason: this.#finishReason };
    return {
      model: this.#model,
      choices: this.#hasChunk ? [choice] : [],
      usage: this.#usage,
      service_tier: this.#serviceTier,
      ...(error !== undefined && { error }),
    };
  }

  #addUsage(usage: unknown): void {
    if (isRecord(usage)) this.#usage = mergeUsage(this.#usage, usage);
  }
}

/** A later count replaces an earlier one; null, 0 or an unreadable one erases nothing: tokens are never taken back. */
function mergeUsage(
  earlier: Readonly<Record<string, unknown>> | undefined,
  later: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const reported = Object.entries(later).flatMap(([name, count]) => {
    const known = earlier?.[name];
    if (isRecord(known) && isRecord(count)) return [[name, mergeUsage(known, count)]];
    const erases = count === 0 || typeof count !== 'number';
    return count === null || (erases && typeof known === 'number') ? [] : [[name, count]];
  });
  return { ...earlier, ...(Object.fromEntries(reported) as object) };
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
