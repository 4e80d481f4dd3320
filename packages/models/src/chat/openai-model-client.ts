import {
  type Clock,
  type Lane,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import OpenAI from 'openai';
import type * as z from 'zod';
import type { PooledFetch } from '../pooled-fetch.ts';
import { mapHttpError } from '../vendors/map-http-error.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import {
  type ChatCompletion,
  chatChunkSchema,
  chatCompletionSchema,
  errorBodySchema,
  mapFinishReason,
  mapOutput,
  mapUsage,
} from './chat-completion.ts';

/**
 * Shorter keys are placeholders (`EMPTY`, `none`) for servers that want none: cutting those out would
 * change answers.
 */
const MIN_SECRET_CHARS = 8;

/** Vendors tell a wrong key by its beginning; so much of it, of a key so long, is cut out too. */
const MIN_PREFIX_CHARS = 12;
const MIN_PREFIXED_KEY_CHARS = 16;

/** Longer than any call may take: calls are timed by their own signal. */
const NEVER_MS = 2 ** 31 - 1;

interface Endpoint {
  readonly url: string;
  readonly client: OpenAI;
  readonly headers: (request: ModelRequest) => Record<string, string>;
  inFlight: number;
}

interface OpenLane {
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  /** Cuts the lane's key out of a text; undefined where there is no key. */
  readonly redact: Redact | undefined;
}

type Redact = (text: string) => string;

/** What a completion, streamed or not, came to. */
interface Completion {
  readonly completion: ChatCompletion;
  readonly raw: unknown;
  readonly ttftMs: number | null;
}

/**
 * Chat completions over the OpenAI protocol, through the `openai` package with its retries off.
 *
 * A call goes to the lane's endpoint with the fewest calls in flight. Keys are read once per lane and
 * cut out of everything that is kept.
 */
export class OpenAiModelClient implements ModelClient, AsyncDisposable {
  readonly #keyOf: (lane: Lane) => string | undefined;
  readonly #clock: Clock;
  readonly #pool: PooledFetch;
  readonly #lanes = new Map<string, OpenLane>();

  /**
   * @param init.keyOf - The lane's API key; undefined where it needs none.
   * @param init.pool - Disposed of with the client. Handed in, for undici's adds 0.8 MB to a bundle.
   */
  constructor(init: {
    readonly keyOf: (lane: Lane) => string | undefined;
    readonly clock: Clock;
    readonly pool: PooledFetch;
  }) {
    this.#keyOf = init.keyOf;
    this.#clock = init.clock;
    this.#pool = init.pool;
  }

  async send(request: ModelRequest, signal: AbortSignal): Promise<ModelResponse> {
    const { endpoints, redact } = this.#laneOf(request.lane);
    const endpoint = endpoints.reduce((idle, next) =>
      next.inFlight < idle.inFlight ? next : idle,
    );
    const startedMs = performance.now();
    const timeout = new CallTimeout(request.lane.timeoutMs, signal);
    endpoint.inFlight += 1;
    try {
      const call = { request, redact, signal: timeout.signal, startedMs };
      const sent = await this.#complete(endpoint, call);
      const latencyMs = performance.now() - startedMs;
      return describeResponse(endpoint.url, sent, latencyMs);
    } catch (error) {
      const latencyMs = performance.now() - startedMs;
      const mapped = this.#mapError(error, { timeout, signal, latencyMs, request });
      throw redactError(mapped, redact);
    } finally {
      endpoint.inFlight -= 1;
      timeout.clear();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  #laneOf(lane: Lane): OpenLane {
    const known = this.#lanes.get(lane.name);
    if (known !== undefined) return known;
    const key = this.#keyOf(lane);
    const [first, ...others] = lane.endpoints.map((url) => this.#openEndpoint(url, key));
    if (first === undefined) {
      throw new ThriceError({
        code: 'endpoint-unreachable',
        message: `lane "${lane.name}" has no endpoint`,
      });
    }
    const redact =
      key === undefined || key.length < MIN_SECRET_CHARS
        ? undefined
        : (text: string) => cutKey(text, key);
    const opened: OpenLane = { endpoints: [first, ...others], redact };
    this.#lanes.set(lane.name, opened);
    return opened;
  }

  #openEndpoint(url: string, key: string | undefined): Endpoint {
    const client = new OpenAI({
      baseURL: url,
      apiKey: key ?? 'none',
      organization: null,
      project: null,
      maxRetries: 0,
      timeout: NEVER_MS,
      logLevel: 'off',
      fetch: this.#pool.fetch,
    });
    const headers = isLoopback(url) ? cellHeader : () => ({});
    return { url, client, headers, inFlight: 0 };
  }

  async #complete(
    { client, headers }: Endpoint,
    {
      request,
      redact,
      signal,
      startedMs,
    }: {
      readonly request: ModelRequest;
      readonly redact: Redact | undefined;
      readonly signal: AbortSignal;
      readonly startedMs: number;
    },
  ): Promise<Completion> {
    const body = describeBody(request);
    const options = { signal, headers: headers(request) };
    if (!request.isStreamed) {
      const received: unknown = await client.chat.completions.create(
        { ...body, stream: false },
        options,
      );
      const raw = redactValue(received, redact);
      return { completion: parseCompletion(raw), raw, ttftMs: null };
    }
    const stream = await client.chat.completions.create(
      { ...body, stream: true, stream_options: { include_usage: true } },
      options,
    );
    const { raw, ttftMs } = await assembleStream(stream, startedMs);
    const redacted = redactValue(raw, redact);
    return { completion: parseCompletion(redacted), raw: redacted, ttftMs };
  }

  #mapError(
    error: unknown,
    {
      timeout,
      signal,
      latencyMs,
      request,
    }: {
      readonly timeout: CallTimeout;
      readonly signal: AbortSignal;
      readonly latencyMs: number;
      readonly request: ModelRequest;
    },
  ): ThriceError {
    if (signal.aborted) {
      return signal.reason instanceof ThriceError
        ? signal.reason
        : new ThriceError({ code: 'interrupted', message: 'the call was stopped', cause: error });
    }
    const details = { latencyMs };
    if (timeout.isOver) {
      const message = `no answer within ${request.lane.timeoutMs / 1000} s`;
      return new ThriceError({ code: 'model-timeout', message, details, cause: error });
    }
    if (error instanceof ThriceError) return withLatency(error, latencyMs);
    if (error instanceof SyntaxError) {
      const message = 'the body is not whole JSON';
      return new ThriceError({ code: 'truncated-response', message, details, cause: error });
    }
    if (error instanceof OpenAI.APIError && error.status !== undefined) {
      return mapHttpError(describeRefusal(error), this.#clock.now(), latencyMs);
    }
    if (error instanceof OpenAI.APIError && error.error)
      return withLatency(bodyError(error.error), latencyMs);
    if (!(error instanceof OpenAI.APIConnectionError) && !isSocketError(error)) {
      return toThriceError(error);
    }
    const message = rootMessage(error);
    return new ThriceError({ code: 'connection-failed', message, details, cause: error });
  }
}

/** One timer a call; aborts with the caller's signal or when the time is over. */
class CallTimeout {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = () => this.#controller.abort();
  isOver = false;

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#abort();
    }, timeoutMs);
    if (outer.aborted) this.#abort();
    else outer.addEventListener('abort', this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#abort);
  }
}

type Body = Omit<OpenAI.ChatCompletionCreateParams, 'stream' | 'stream_options'>;

function describeBody(request: ModelRequest): Body {
  const { model, messages, temperature, maxTokens, lane, extraBody } = request;
  return {
    model,
    messages: [...messages],
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { [lane.maxTokensField]: maxTokens }),
    ...extraBody,
  };
}

/** Tells a local endpoint which cell asks, for its log; a vendor has no business knowing. */
function cellHeader({ cell, step }: ModelRequest): Record<string, string> {
  const parts = [cell.run, cell.config, cell.id, step];
  return { 'x-thrice-cell': parts.map(encodeURIComponent).join('/') };
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function parseCompletion(raw: unknown): ChatCompletion {
  const refused = errorBodySchema.safeParse(raw);
  if (refused.success) throw bodyError(refused.data.error);
  const parsed = chatCompletionSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new ThriceError({
    code: 'truncated-response',
    message: 'expected a chat completion with a choice, received another body',
    cause: parsed.error,
  });
}

function bodyError(error: {
  readonly code?: string | number | null | undefined;
  readonly type?: string | null | undefined;
  readonly message?: string | null | undefined;
}): ThriceError {
  const { code, type, message } = error;
  const status = typeof code === 'number' ? code : undefined;
  const refusal = {
    status,
    codes: [String(code ?? ''), type ?? ''],
    message: message ?? 'error without a message',
    header: () => null,
  };
  return mapHttpError(refusal, 0, 0);
}

async function assembleStream(
  stream: AsyncIterable<unknown>,
  startedMs: number,
): Promise<{ readonly raw: unknown; readonly ttftMs: number | null }> {
  const texts = { content: undefined, refusal: undefined, reasoning: undefined } as Record<
    'content' | 'refusal' | 'reasoning',
    string | undefined
  >;
  const append = (field: keyof typeof texts, text: string | null | undefined) => {
    if (text !== null && text !== undefined) texts[field] = (texts[field] ?? '') + text;
  };
  let ttftMs: number | null = null;
  let model: string | null | undefined;
  let finishReason: string | null | undefined;
  let usage: ChatCompletion['usage'];
  for await (const raw of stream) {
    const refused = errorBodySchema.safeParse(raw);
    if (refused.success) throw bodyError(refused.data.error);
    const chunk = parseChunk(raw);
    model ??= chunk.model;
    usage = chunk.usage ?? usage;
    const choice = chunk.choices?.[0];
    finishReason = choice?.finish_reason ?? finishReason;
    append('content', choice?.delta?.content);
    append('refusal', choice?.delta?.refusal);
    append('reasoning', choice?.delta?.reasoning_content ?? choice?.delta?.reasoning);
    if (ttftMs === null && hasText(texts)) ttftMs = performance.now() - startedMs;
  }
  if (finishReason === undefined || finishReason === null) {
    throw new ThriceError({
      code: 'truncated-response',
      message: 'the stream ended without a finish reason',
    });
  }
  const raw = { model, choices: [{ message: texts, finish_reason: finishReason }], usage };
  return { raw, ttftMs };
}

function parseChunk(raw: unknown): z.infer<typeof chatChunkSchema> {
  const parsed = chatChunkSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new ThriceError({
    code: 'truncated-response',
    message: 'expected a chunk of a chat completion, received something else',
    cause: parsed.error,
  });
}

function hasText(texts: Readonly<Record<string, string | undefined>>): boolean {
  return Object.values(texts).some((text) => text !== undefined && text !== '');
}

function describeResponse(
  endpoint: string,
  { completion, raw, ttftMs }: Completion,
  latencyMs: number,
): ModelResponse {
  const [choice] = completion.choices;
  const output = mapOutput(choice?.message ?? {});
  const notice = output.text === null ? undefined : mapLimitText(output.text);
  if (notice !== undefined) throw withLatency(notice, latencyMs);
  return {
    endpoint,
    servedModel: completion.model ?? null,
    output,
    finishReason: mapFinishReason(choice?.finish_reason),
    rawFinishReason: choice?.finish_reason ?? null,
    usage: mapUsage(completion.usage),
    latencyMs,
    ttftMs,
    raw,
  };
}

function describeRefusal(
  error: InstanceType<typeof OpenAI.APIError>,
): Parameters<typeof mapHttpError>[0] {
  return {
    status: error.status as number | undefined,
    codes: [error.code, error.type].filter((code) => typeof code === 'string'),
    message: error.message.replace(/^\d{3} /, ''),
    header: (name) => (error.headers as Headers | undefined)?.get(name) ?? null,
  };
}

function withLatency(error: ThriceError, latencyMs: number): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, latencyMs }, cause });
}

/** A stream that breaks off is reported as the socket's or the pool's own error. */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause !== undefined) root = root.cause;
  if (!(root instanceof Error)) return String(root);
  const code = 'code' in root && typeof root.code === 'string' ? ` (${root.code})` : '';
  return `${root.message}${code}`;
}

function redactError(error: ThriceError, redact: Redact | undefined): ThriceError {
  const message = redact?.(error.message) ?? error.message;
  if (message === error.message) return error;
  return new ThriceError({ code: error.code, message, details: error.details });
}

/** A JSON value without the key, in names too. */
function redactValue(value: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return value;
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redactValue(inner, redact)]),
  );
}

/** Puts `[key]` for the key, and for as much of a long key's beginning as a text holds. */
function cutKey(text: string, key: string): string {
  if (key.length < MIN_PREFIXED_KEY_CHARS) return text.replaceAll(key, '[key]');
  const [head = '', ...tails] = text.split(key.slice(0, MIN_PREFIX_CHARS));
  return tails.reduce((cut, tail) => {
    let length = 0;
    while (length < tail.length && tail[length] === key[MIN_PREFIX_CHARS + length]) length += 1;
    return `${cut}[key]${tail.slice(length)}`;
  }, head);
}
