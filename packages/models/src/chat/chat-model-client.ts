import {
  type Clock,
  type Lane,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  ThriceError,
} from '@thrice/core';
import OpenAI from 'openai';
import { CallTimeout } from '../transport/call-timeout.ts';
import type { PooledFetch } from '../transport/pooled-fetch.ts';
import { pickRateLimits } from '../transport/rate-limit-headers.ts';
import { createRedact, type Redact, redactValue } from '../transport/redact.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import { assembleStream } from './assemble-stream.ts';
import { describeBody } from './chat-request.ts';
import {
  type ChatCompletion,
  chatCompletionSchema,
  errorBodySchema,
  mapFinishReason,
  mapOutput,
  mapUsage,
} from './chat-response.ts';
import { mapCallError, withLatency } from './map-call-error.ts';

/** Longer than any call may take: the call's own signal enforces its timeout. */
const NEVER_MS = 2 ** 31 - 1;

interface Endpoint {
  readonly url: string;
  readonly client: OpenAI;
  readonly headers: (request: ModelRequest) => Record<string, string>;
  inFlight: number;
}

interface OpenLane {
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  /** Removes the lane's key from a text; undefined if the lane has no key. */
  readonly redact: Redact | undefined;
}

/** A call to an endpoint. */
interface PendingCall {
  readonly request: ModelRequest;
  readonly redact: Redact | undefined;
  readonly signal: AbortSignal;
  readonly startedMs: number;
}

/** A completion, streamed or not, as received. */
interface ReceivedCompletion {
  readonly raw: unknown;
  readonly ttftMs: number | null;
  readonly headers: Headers;
}

/** The dependencies of a model client. */
export interface ModelClientInit {
  /** Returns the lane's API key; undefined if it needs none. */
  readonly keyOf: (lane: Lane) => string | undefined;
  readonly clock: Clock;
  /** Passed in because undici's pool adds 0.8 MB to a bundle. */
  readonly pool: PooledFetch;
}

/**
 * Chat completions over the OpenAI protocol, through the `openai` package with its retries off.
 *
 * A call goes to the lane's endpoint with the fewest calls in flight. The client reads a lane's key once
 * and removes it from every response and error.
 */
export class ChatModelClient implements ModelClient {
  readonly #keyOf: (lane: Lane) => string | undefined;
  readonly #clock: Clock;
  readonly #pool: PooledFetch;
  readonly #lanes = new Map<string, OpenLane>();

  constructor({ keyOf, clock, pool }: ModelClientInit) {
    this.#keyOf = keyOf;
    this.#clock = clock;
    this.#pool = pool;
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
      const received = await complete(endpoint, call);
      return describeResponse(endpoint.url, received, performance.now() - startedMs);
    } catch (error) {
      const latencyMs = performance.now() - startedMs;
      throw redactError(this.#mapError(error, { timeout, signal, latencyMs, request }), redact);
    } finally {
      endpoint.inFlight -= 1;
      timeout.clear();
    }
  }

  #laneOf(lane: Lane): OpenLane {
    const known = this.#lanes.get(lane.name);
    if (known !== undefined) return known;
    const key = this.#keyOf(lane);
    const [first, ...others] = lane.endpoints.map((url) => this.#openEndpoint(url, key));
    if (first === undefined) {
      throw new ThriceError({
        code: 'endpoint-unreachable',
        message: `lane "${lane.name}": expected an endpoint, found none`,
      });
    }
    const opened: OpenLane = { endpoints: [first, ...others], redact: createRedact(key) };
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
    if (timeout.isOver) {
      const message = `no answer within ${request.lane.timeoutMs / 1000} s`;
      const details = { latencyMs };
      return new ThriceError({ code: 'model-timeout', message, details, cause: error });
    }
    return mapCallError(error, this.#clock.now(), latencyMs);
  }
}

async function complete(
  { client, headers }: Endpoint,
  { request, redact, signal, startedMs }: PendingCall,
): Promise<ReceivedCompletion> {
  const body = describeBody(request);
  const options = { signal, headers: headers(request) };
  if (!request.isStreamed) {
    const { data, response } = await client.chat.completions
      .create({ ...body, stream: false }, options)
      .withResponse();
    return { raw: redactValue(data, redact), ttftMs: null, headers: response.headers };
  }
  const { data, response } = await client.chat.completions
    .create({ ...body, stream: true, stream_options: { include_usage: true } }, options)
    .withResponse();
  const { raw, ttftMs } = await assembleStream(data, startedMs);
  return { raw: redactValue(raw, redact), ttftMs, headers: response.headers };
}

/** Names the cell of a call for the log of a local endpoint. Vendors do not receive it. */
function cellHeader({ cell, step }: ModelRequest): Record<string, string> {
  const parts = [cell.run, cell.config, cell.id, step];
  return { 'x-thrice-cell': parts.map(encodeURIComponent).join('/') };
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function describeResponse(
  endpoint: string,
  { raw, ttftMs, headers }: ReceivedCompletion,
  latencyMs: number,
): ModelResponse {
  const completion = parseCompletion(raw, headers);
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
    rateLimits: pickRateLimits(headers),
    fault: undefined,
    raw,
  };
}

/**
 * Parses a received body.
 *
 * @throws {APIError} For an error object in the body, as the package does for one in a stream.
 * @throws {ThriceError} `truncated-response` for any other body.
 */
function parseCompletion(raw: unknown, headers: Headers): ChatCompletion {
  const refused = errorBodySchema.safeParse(raw);
  if (refused.success) throw new OpenAI.APIError(undefined, refused.data.error, undefined, headers);
  const parsed = chatCompletionSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw new ThriceError({
    code: 'truncated-response',
    message: 'expected a chat completion with a choice, received another body',
    cause: parsed.error,
  });
}

function redactError(error: ThriceError, redact: Redact | undefined): ThriceError {
  const message = redact?.(error.message) ?? error.message;
  if (message === error.message) return error;
  return new ThriceError({ code: error.code, message, details: error.details });
}
