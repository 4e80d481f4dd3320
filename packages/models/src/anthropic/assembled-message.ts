import { APIError } from 'openai/core/error';
import * as z from 'zod';
import { unreadableEvent } from '../call/assemble-stream.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import { parseJson } from '../call/parse-json.ts';
import type { StreamAssembly } from '../call/wire-protocol.ts';

const eventSchema = z.object({
  type: z.string(),
  index: z.int().nullish().catch(null),
});

/** The fields of a block that its deltas add to, by the type of the delta. */
const DELTAS: ReadonlyMap<unknown, string> = new Map([
  ['text_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'signature'],
  ['input_json_delta', 'partial_json'],
]);

type Fields = Record<string, unknown>;

/** The message that the events of a stream add up to. */
export class AssembledMessage implements StreamAssembly {
  readonly #blocks = new Map<number, Fields>();
  #message: Fields = {};
  #usage: Fields | undefined;
  #hasText = false;

  add(raw: unknown): void {
    const { data: event } = eventSchema.safeParse(raw);
    if (event === undefined) throw unreadableEvent();
    switch (event.type) {
      case 'message_start':
        this.#start(fieldOf(raw, 'message'));
        return;
      case 'content_block_start':
        this.#blockAt(event.index, fieldOf(raw, 'content_block'));
        return;
      case 'content_block_delta':
        this.#extend(this.#blockAt(event.index), fieldOf(raw, 'delta'));
        return;
      case 'message_delta':
        this.#merge(fieldOf(raw, 'delta'));
        this.#addUsage(fieldOf(raw, 'usage'));
        return;
      // As the package throws it where the event is also named so.
      case 'error':
        throw new APIError(undefined, toError(raw), undefined, undefined);
      // `ping`, `content_block_stop`, `message_stop`, and what the vendor may add: "handle unknown event types
      // gracefully" (https://platform.claude.com/docs/en/build-with-claude/streaming, 2026-11).
      default:
    }
  }

  hasText(): boolean {
    return this.#hasText;
  }

  isFinished(): boolean {
    return typeof this.#message['stop_reason'] === 'string';
  }

  build(error: unknown): object {
    const { content, ...rest } = this.#message;
    const blocks = [...this.#blocks]
      .toSorted(([left], [right]) => left - right)
      .map(([, block]) => toBlock(block));
    return {
      ...rest,
      ...((content !== undefined || blocks.length > 0) && { content: blocks }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...(error !== undefined && { error }),
    };
  }

  #start(message: unknown): void {
    if (!isRecord(message)) throw unreadableEvent();
    const { usage, ...rest } = message;
    this.#message = { ...rest };
    this.#addUsage(usage);
  }

  #blockAt(index: number | null | undefined, announced?: unknown): Fields {
    if (index === null || index === undefined) throw unreadableEvent();
    const known = this.#blocks.get(index);
    const block = known ?? (isRecord(announced) ? { ...announced } : {});
    this.#blocks.set(index, block);
    this.#noteText(block['text']);
    return block;
  }

  #extend(block: Fields, delta: unknown): void {
    const field = DELTAS.get(fieldOf(delta, 'type'));
    const text = field === undefined ? undefined : fieldOf(delta, field);
    if (field === undefined || typeof text !== 'string') return;
    const before = block[field];
    block[field] = (typeof before === 'string' ? before : '') + text;
    if (field !== 'signature') this.#noteText(text);
    // A block whose start is missing.
    if (field === 'text' || field === 'thinking') block['type'] ??= field;
  }

  #noteText(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#hasText = true;
  }

  #merge(delta: unknown): void {
    if (isRecord(delta)) this.#message = { ...this.#message, ...delta };
  }

  /** A later count replaces an earlier one; a later event that has none erases nothing. */
  #addUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const reported = Object.entries(usage).filter(([, count]) => count !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) };
  }
}

/** A block with the input of its tool in place of the pieces that it came in. */
function toBlock({ partial_json: text, ...block }: Fields): Fields {
  if (typeof text !== 'string') return block;
  return { ...block, input: parseJson(text) ?? text };
}

function toError(event: unknown): object {
  const error = fieldOf(event, 'error');
  return isRecord(error) ? error : {};
}
