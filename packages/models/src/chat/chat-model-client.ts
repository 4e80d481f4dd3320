import {
  type Clock,
  type Lane,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  type RateLimitHeaders,
  ThriceError,
} from '@thrice/core';
import { APIError } from 'openai/core/error';
import { CallTimeout } from '../transport/call-timeout.ts';
import {
  type HttpEndpoint,
  type HttpResponse,
  type HttpTransport,
  readText,
} from '../transport/http-transport.ts';
import { pickRateLimits } from '../transport/rate-limit-headers.ts';
import { createRedact, type Redact, redactValue } from '../transport/redact.ts';
import { describeBody } from './chat-request.ts';
import { isRecord } from './chat-response.ts';
import { endpointHeaders, endpointUrl } from './endpoint.ts';
import { mapApiError, mapConnectionError, withLatency } from './map-call-error.ts';
import { parseJson } from './parse-json.ts';
import { readCompletion } from './read-completion.ts';
import { receiveDocument, receiveStream } from './receive-body.ts';

interface Endpoint {
  readonly url: string;
  readonly http: HttpEndpoint;
  readonly isLoopback: boolean;
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
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timeout: CallTimeout;
  readonly startedMs: number;
}

/** The dependencies of a model client. */
export interface ModelClientInit {
  /** Returns the lane's API key; undefined if it needs none. */
  readonly keyOf: (lane: Lane) => string | undefined;
  readonly clock: Clock;
  /** Passed in because undici's pool adds 0.8 MB to a bundle. */
  readonly transport: HttpTransport;
}

/**
 * Chat completions over the OpenAI protocol. Types, errors and the decoding of streams are those of the `openai`
 * package; its client is not used, because it costs more than everything else that a call needs.
 *
 * A call goes to the lane's endpoint with the fewest calls in flight. The client reads a lane's key once
 * and removes it from every response and error.
 */
export class ChatModelClient implements ModelClient {
  readonly #keyOf: (lane: Lane) => string | undefined;
  readonly #clock: Clock;
  readonly #transport: HttpTransport;
  readonly #lanes = new Map<string, OpenLane>();

  constructor({ keyOf, clock, transport }: ModelClientInit) {
    this.#keyOf = keyOf;
    this.#clock = clock;
    this.#transport = transport;
  }

  async send(request: ModelRequest, signal: AbortSignal): Promise<ModelResponse> {
    const { endpoints, redact } = this.#laneOf(request.lane);
    if (signal.aborted) throw interrupted(signal);
    const endpoint = endpoints.reduce((idle, next) =>
      next.inFlight < idle.inFlight ? next : idle,
    );
    const startedMs = performance.now();
    const timeout = new CallTimeout(request.lane.timeoutMs, signal);
    endpoint.inFlight += 1;
    try {
      return await this.#call(endpoint, { request, redact, signal, timeout, startedMs });
    } finally {
      endpoint.inFlight -= 1;
      timeout.clear();
    }
  }

  async #call(endpoint: Endpoint, call: PendingCall): Promise<ModelResponse> {
    const { request, startedMs } = call;
    const body = describeRequest(request);
    const headers = endpoint.isLoopback ? cellHeader(request) : undefined;
    const response = await endpoint.http
      .post({ body, headers, stop: call.timeout })
      .catch((error: unknown) => {
        throw this.#mapFailure(mapConnectionError(error), call, {});
      });
    const rateLimits = pickRateLimits(response.headers);
    if (response.status < 200 || response.status > 299) {
      throw this.#mapFailure(await readRefusal(response), call, rateLimits);
    }

    // From here on the call is paid for: what is wrong with the response is its fault, not an exception. That it was
    // stopped before all of it arrived is no exception either.
    const received = request.isStreamed
      ? await receiveStream(response.body, startedMs)
      : await receiveDocument(response.body);
    const latencyMs = performance.now() - startedMs;
    const raw = redactValue(received.raw, call.redact);
    const { problem, ...completion } = readCompletion(raw);
    const failure = received.failure ?? problem;
    return {
      endpoint: endpoint.url,
      ...completion,
      latencyMs,
      ttftMs: received.ttftMs,
      rateLimits,
      raw,
      fault: failure === undefined ? undefined : this.#mapFailure(failure, call, rateLimits),
    };
  }

  #laneOf(lane: Lane): OpenLane {
    const known = this.#lanes.get(lane.name);
    if (known !== undefined) return known;
    const key = this.#keyOf(lane)?.trim();
    if (key !== undefined && !SENDABLE_KEY.test(key)) {
      throw new ThriceError({
        code: 'auth-failed',
        message: `lane "${lane.name}": expected an API key that a header can carry, received one with other characters`,
      });
    }
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
    const http = this.#transport.open(endpointUrl(url, '/chat/completions'), endpointHeaders(key));
    return { url, http, isLoopback: isLoopback(url), inFlight: 0 };
  }

  /** Translates what went wrong with a call, with its latency and without the lane's key. */
  #mapFailure(
    error: ThriceError | APIError,
    call: PendingCall,
    rateLimits: RateLimitHeaders,
  ): ThriceError {
    const { request, redact, signal, timeout, startedMs } = call;
    const latencyMs = performance.now() - startedMs;
    if (error instanceof APIError) {
      const context = { nowMs: this.#clock.now(), latencyMs, rateLimits };
      return redactError(mapApiError(error, context), redact);
    }
    if (isBrokenOff(error) && signal.aborted) return interrupted(signal);
    if (isBrokenOff(error) && timeout.isOver) return timedOut(request.lane, latencyMs, error);
    return redactError(withLatency(error, latencyMs), redact);
  }
}

/** The characters of a header's value. */
const SENDABLE_KEY = /^[\t\x20-\x7e\x80-\xff]*$/;

function describeRequest(request: ModelRequest): string {
  const streaming = request.isStreamed
    ? { stream: true, stream_options: { include_usage: true } }
    : { stream: false };
  return JSON.stringify({ ...describeBody(request), ...streaming });
}

/** Whether the connection ended first; a call that is stopped ends its connection. */
function isBrokenOff(failure: ThriceError | APIError | undefined): boolean {
  return failure instanceof ThriceError && failure.code === 'connection-failed';
}

/** Reads a response that refuses by its status, as the package does. */
async function readRefusal({ status, body }: HttpResponse): Promise<APIError> {
  const { text } = await readText(body);
  const parsed = parseJson(text);
  const json = isRecord(parsed) ? parsed : undefined;
  return APIError.generate(status, json, json === undefined ? text : undefined, new Headers());
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

function interrupted({ reason }: AbortSignal): ThriceError {
  if (reason instanceof ThriceError) return reason;
  return new ThriceError({
    code: 'interrupted',
    message: 'the call was stopped',
    cause: reason,
  });
}

function timedOut({ timeoutMs }: Lane, latencyMs: number, cause: unknown): ThriceError {
  const message = `no answer within ${timeoutMs / 1000} s`;
  return new ThriceError({ code: 'model-timeout', message, details: { latencyMs }, cause });
}

function redactError(error: ThriceError, redact: Redact | undefined): ThriceError {
  const message = redact?.(error.message) ?? error.message;
  if (message === error.message) return error;
  return new ThriceError({ code: error.code, message, details: error.details });
}
