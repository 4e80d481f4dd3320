import type { ErrorClass, ErrorCode } from '@thrice/core';
import type { HttpExchange } from './http-exchanges.ts';

/** A fault that a server injects, and the class that its error must get. */
export interface KnownFault {
  /** What the server calls it. */
  readonly name: string;
  /** A text that the response has with this fault only. */
  readonly sign: string;
  readonly errorClass: ErrorClass;
  /** The code that its error must get; undefined where several are right. */
  readonly code?: ErrorCode;
}

/** How a careful reader takes an exchange. */
export type ExpectedReading =
  | {
      readonly kind: 'answer';
      /** Null if the completion has none. */
      readonly text: string | null;
      /** Null where the server sent no count. */
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
    }
  | {
      readonly kind: 'failure';
      readonly errorClass: ErrorClass;
      readonly code?: ErrorCode | undefined;
      readonly why: string;
    };

interface Output {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
  readonly tool_calls?: readonly object[] | null;
}

interface Choice {
  readonly index?: number;
  readonly message?: Output;
  readonly delta?: Output | null;
  readonly finish_reason?: string | null;
}

/** The part of a completion, or of one chunk, that is compared. */
interface Completion {
  readonly choices?: readonly Choice[];
  readonly usage?: TokenCounts | null;
}

interface TokenCounts {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
}

/** The classes of the statuses that the servers send; the taxonomy is docs/errors.md. */
const classByStatus: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [400, 'rejected'],
  [401, 'misconfigured'],
  [402, 'exhausted'],
  [403, 'misconfigured'],
  [404, 'misconfigured'],
  [408, 'transient'],
  [409, 'transient'],
  [413, 'rejected'],
  [422, 'rejected'],
  [425, 'transient'],
  [429, 'rate-limited'],
]);

/**
 * Reads an exchange without any code of the product: a fault that the server injected by its sign, anything else by
 * status and body.
 */
export function expectReading(
  exchange: HttpExchange,
  faults: readonly KnownFault[],
): ExpectedReading {
  const { status, body } = exchange;
  const fault = faults.find(({ sign }) => body.includes(sign));
  if (fault !== undefined) return { kind: 'failure', why: fault.name, ...fault };
  if (status === undefined) {
    return failure('transient', exchange.endedBy === 'client' ? 'no response' : 'closed');
  }
  if (status < 200 || status > 299) {
    const errorClass = status >= 500 ? 'transient' : (classByStatus.get(status) ?? 'rejected');
    return failure(errorClass, `status ${status}`);
  }
  return isEventStream(body) ? readStream(exchange) : readDocument(exchange);
}

function readDocument({ body }: HttpExchange): ExpectedReading {
  const completion = parse(body);
  const choice = completion?.choices?.[0];
  if (completion === undefined || choice === undefined) return failure('transient', 'no JSON');
  return answer([choice.message ?? {}], [completion]);
}

/** By the rules of the protocol: `[DONE]` ends a stream, and so does a finish reason if nothing follows it. */
function readStream({ body }: HttpExchange): ExpectedReading {
  const events = body
    .split(/\r?\n\r?\n/)
    .slice(0, -1)
    .flatMap((event) => /^data: ?(.*)$/m.exec(event)?.[1] ?? []);
  const done = events.indexOf('[DONE]');
  const texts = done === -1 ? events : events.slice(0, done);
  const chunks = texts.map(parse);
  const read = chunks.filter((chunk) => chunk !== undefined);
  if (read.length < chunks.length) return failure('transient', 'a chunk that is no JSON');
  const choices = read.flatMap(
    (chunk) => chunk.choices?.filter(({ index = 0 }) => index === 0) ?? [],
  );
  const isFinished = choices.some(({ finish_reason: reason }) => typeof reason === 'string');
  if (!isFinished) return failure('transient', 'no finish reason');
  return answer(
    choices.flatMap(({ delta }) => delta ?? []),
    read,
  );
}

/** An empty text is an answer. A completion with nothing at all is one that went missing. */
function answer(outputs: readonly Output[], parts: readonly Completion[]): ExpectedReading {
  const contents = outputs.flatMap(({ content }) => content ?? []);
  const hasOther = outputs.some((output) => output.reasoning_content || output.tool_calls);
  if (contents.length === 0 && !hasOther) return failure('transient', 'nothing in it');
  const usage = parts.findLast((part) => part.usage)?.usage;
  return {
    kind: 'answer',
    text: contents.length === 0 ? null : contents.join(''),
    inputTokens: usage?.prompt_tokens ?? null,
    outputTokens: countOutput(usage),
  };
}

/** Some servers leave the reasoning out of the completion's tokens, but not out of the total. */
function countOutput(usage: TokenCounts | null | undefined): number | null {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage ?? {};
  if (input === undefined || output === undefined) return output ?? null;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  return total === input + output + reasoning ? output + reasoning : output;
}

function failure(errorClass: ErrorClass, why: string): ExpectedReading {
  return { kind: 'failure', errorClass, why };
}

function isEventStream(body: string): boolean {
  return /^\s*(?:data|event|id|retry)?:/.test(body);
}

function parse(text: string): Completion | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
