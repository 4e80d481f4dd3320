import { APIError } from 'openai/core/error';
import * as z from 'zod';
import { unreadableEvent } from '../call/assemble-stream.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import type { StreamAssembly } from '../call/wire-protocol.ts';

const eventSchema = z.object({
  type: z.string(),
  output_index: z.int().nullish().catch(null),
  delta: z.string().nullish().catch(null),
});
type ResponseEvent = z.infer<typeof eventSchema>;

/** An item whose end has not arrived, as far as its deltas say. */
interface OpenItem {
  message: string | undefined;
  refusal: string | undefined;
  summary: string | undefined;
  reasoning: string | undefined;
  arguments: string | undefined;
  /** As it was announced. */
  readonly announced: unknown;
}

/** Which text of an item an event adds to. */
const DELTAS: ReadonlyMap<string, Exclude<keyof OpenItem, 'announced'>> = new Map([
  ['response.output_text.delta', 'message'],
  ['response.refusal.delta', 'refusal'],
  ['response.reasoning_summary_text.delta', 'summary'],
  ['response.reasoning_text.delta', 'reasoning'],
  ['response.function_call_arguments.delta', 'arguments'],
]);

/** The events that end a response; each carries all of it. */
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** The response that the events of a stream add up to. */
export class AssembledResponse implements StreamAssembly {
  readonly #items = new Map<number, unknown>();
  readonly #openItems = new Map<number, OpenItem>();
  #response: Readonly<Record<string, unknown>> | undefined;
  #isFinished = false;
  #hasText = false;

  add(raw: unknown): void {
    const { data: event } = eventSchema.safeParse(raw);
    if (event === undefined) throw unreadableEvent();
    // As the package throws it where the event is also named so.
    if (event.type === 'error') throw new APIError(undefined, toError(raw), undefined, undefined);
    const response = fieldOf(raw, 'response');
    if (isRecord(response)) this.#response = response;
    if (ENDS.has(event.type)) this.#isFinished = true;
    this.#addToItem(event, fieldOf(raw, 'item'));
  }

  hasText(): boolean {
    return this.#hasText;
  }

  isFinished(): boolean {
    return this.#isFinished;
  }

  build(error: unknown): object {
    const { output, ...rest } = this.#response ?? {};
    // Some servers leave the output out of the last event.
    const isWhole = this.#isFinished && Array.isArray(output) && output.length > 0;
    const hasItems = this.#items.size + this.#openItems.size > 0;
    return {
      ...rest,
      ...((Array.isArray(output) || hasItems) && {
        output: isWhole ? output : this.#collectItems(),
      }),
      ...(error !== undefined && { error }),
    };
  }

  #addToItem({ type, output_index: index, delta }: ResponseEvent, item: unknown): void {
    if (index === null || index === undefined) return;
    if (type === 'response.output_item.added') this.#openItems.set(index, openItem(item));
    if (type === 'response.output_item.done') {
      this.#openItems.delete(index);
      this.#items.set(index, item);
    }
    const text = DELTAS.get(type);
    if (text === undefined || !delta) return;
    this.#hasText = true;
    const open = this.#openItems.get(index) ?? openItem(undefined);
    this.#openItems.set(index, open);
    open[text] = (open[text] ?? '') + delta;
  }

  #collectItems(): unknown[] {
    const open = [...this.#openItems].map(([index, item]) => [index, toItem(item)] as const);
    return [...this.#items, ...open]
      .toSorted(([left], [right]) => left - right)
      .map(([, item]) => item);
  }
}

function openItem(announced: unknown): OpenItem {
  return {
    message: undefined,
    refusal: undefined,
    summary: undefined,
    reasoning: undefined,
    arguments: undefined,
    announced,
  };
}

/** An item that broke off, in the form of a whole one. */
function toItem({ message, refusal, summary, reasoning, arguments: text, announced }: OpenItem) {
  if (text !== undefined) return { ...(isRecord(announced) && announced), arguments: text };
  if (summary !== undefined || reasoning !== undefined) {
    return {
      type: 'reasoning',
      summary: summary === undefined ? [] : [{ type: 'summary_text', text: summary }],
      ...(reasoning !== undefined && { content: [{ type: 'reasoning_text', text: reasoning }] }),
    };
  }
  if (message === undefined && refusal === undefined) return announced;
  return {
    type: 'message',
    role: 'assistant',
    content: [
      ...(message === undefined ? [] : [{ type: 'output_text', text: message }]),
      ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
    ],
  };
}

/** The error of an error event; some servers put it into a field of its own. */
function toError(event: unknown): object {
  const error = fieldOf(event, 'error');
  if (isRecord(error)) return error;
  const { type: _, ...rest } = isRecord(event) ? event : {};
  return rest;
}
