import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { ThriceError } from '@thrice/core';
import { createRequestHandler } from './answer-request.ts';
import { isApiError, modelNotFound, unknownUrl } from './api-error.ts';
import { BackgroundResponses } from './background-responses.ts';
import { createBatchApi } from './batches/batch-api.ts';
import { createBehaviourModel } from './behaviour-model.ts';
import { createFaultPlan } from './fault-plan.ts';
import type { Behaviour } from './load-behaviour.ts';
import type { Faults } from './load-faults.ts';
import type { Recordings } from './load-recordings.ts';
import { anthropicProtocol } from './protocols/anthropic-protocol.ts';
import { chatProtocol } from './protocols/chat-protocol.ts';
import { responsesProtocol } from './protocols/responses-protocol.ts';
import { RateLimiter } from './rate-limiter.ts';
import { createRecordedModel } from './recorded-model.ts';
import { createReplayedModel, type RecordedCall } from './replayed-model.ts';
import { openRequestLog } from './request-log.ts';
import { RequestCounter, type SimulatorStats } from './request-stats.ts';
import { createFixedModel, type SimulatedModel } from './simulated-model.ts';
import type { SimulatedQuestion } from './simulated-question.ts';
import { type SimulatorClock, systemClock } from './system-clock.ts';
import { writeError, writeJson } from './write-response.ts';

/** The answer to every request if neither recordings nor a behavior is given. */
export const fixedAnswerText = 'The answer is 42.';

/** Options of a simulator, all optional. */
export interface SimulatorOptions {
  /** @default 0, a free port */
  readonly port?: number | undefined;
  /** @default '127.0.0.1' */
  readonly host?: string | undefined;
  /** Recorded answers. They take precedence over `behaviour`, which answers all other requests. */
  readonly recordings?: Recordings | undefined;
  /** The calls of a recorded run, in place of `recordings`. */
  readonly calls?: Iterable<RecordedCall> | undefined;
  /** Simulated models. */
  readonly behaviour?: Behaviour | undefined;
  /** The questions the simulated models know; ignored without `behaviour`. */
  readonly questions?: Iterable<SimulatedQuestion> | undefined;
  /** The faults to inject. */
  readonly faults?: Faults | undefined;
  /** Path of a JSONL request log, appended to. */
  readonly log?: string | undefined;
  /** @default the system clock */
  readonly clock?: SimulatorClock | undefined;
}

/** A running model server. */
export interface Simulator extends AsyncDisposable {
  /** Base URL for a client of OpenAI: `http://<host>:<port>/v1`. */
  readonly url: string;
  stats(): SimulatorStats;
  /** Closes all connections and completes the log. A second call has no effect. */
  close(): Promise<void>;
}

/** The wire protocols, by the path of their requests. */
const protocols = new Map(
  [chatProtocol, responsesProtocol, anthropicProtocol].map((protocol) => [protocol.path, protocol]),
);

/** Longer than any client keeps an idle connection, so that no request hits a closing socket. */
const keepAliveTimeoutMs = 75_000;
const backlog = 4096;

/**
 * Starts a model server that speaks chat completions, responses and Anthropic's messages.
 *
 * Endpoints: `POST /v1/chat/completions`, `/v1/responses` and `/v1/messages` (JSON and SSE), `GET /v1/responses/<id>` and
 * `POST /v1/responses/<id>/cancel` for responses in the background, OpenAI's `/v1/files` and `/v1/batches` and Anthropic's
 * `/v1/messages/batches`, `GET /v1/models`, `GET /v1/models/<name>`, `GET /thrice/stats`.
 *
 * @throws {ThriceError} `invalid-argument` when the server cannot listen on the host and port;
 *   `invalid-file` when the log cannot be opened.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { port = 0, host = '127.0.0.1', faults, clock = systemClock } = options;
  const model = createModel(options);
  const counter = new RequestCounter();
  const log = options.log === undefined ? undefined : openLog(options.log);
  const faultPlan = faults === undefined ? undefined : createFaultPlan(faults);
  const rateLimiter =
    faults?.rateLimit === undefined ? undefined : new RateLimiter(faults.rateLimit);
  const background = new BackgroundResponses(clock);
  const services = { model, faultPlan, rateLimiter, background, counter, log, clock };
  const handler = createRequestHandler(services);
  const batches = createBatchApi({
    services: { model, counter, clock },
    seed: faults?.seed ?? 0,
    batching: faults?.batches ?? {},
  });
  const stats = () => {
    batches.settle();
    return counter.snapshot(handler.rateWindows());
  };

  const server = createHttpServer((request, response) => {
    const path = pathOf(request);
    const protocol = request.method === 'POST' ? protocols.get(path) : undefined;
    const route = `${request.method ?? ''} ${path}`;
    if (protocol !== undefined) handler.handle(request, response, protocol);
    else if (!batches.handle(route, request, response)) {
      answerOtherRequest(route, response, { model, background, stats });
    }
  });
  try {
    await listen(server, port, host);
  } catch (error) {
    log?.close();
    throw error;
  }

  let closing: Promise<void> | undefined;
  const close = async () => {
    closing ??= stopServer(server).then(() => {
      handler.abandonAll();
      log?.close();
    });
    await closing;
  };
  return {
    url: `${originOf(server, host)}/v1`,
    stats,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createModel(options: SimulatorOptions): SimulatedModel {
  const { recordings, calls, behaviour, questions = [] } = options;
  const simulated =
    behaviour === undefined ? undefined : createBehaviourModel(behaviour, questions);
  const recorded = createRecorded({ recordings, calls });
  if (recorded === undefined) return simulated ?? createFixedModel(fixedAnswerText);
  if (simulated === undefined) return recorded;
  return {
    modelNames: simulated.modelNames,
    answer: (...request) => {
      const answer = recorded.answer(...request);
      return 'status' in answer ? simulated.answer(...request) : answer;
    },
  };
}

function createRecorded({ recordings, calls }: Pick<SimulatorOptions, 'recordings' | 'calls'>) {
  if (calls !== undefined) return createReplayedModel(calls);
  return recordings === undefined ? undefined : createRecordedModel(recordings);
}

/** Answers every request that is not to a model. */
function answerOtherRequest(
  route: string,
  response: ServerResponse,
  {
    model: { modelNames },
    background,
    stats,
  }: {
    readonly model: SimulatedModel;
    readonly background: BackgroundResponses;
    readonly stats: () => SimulatorStats;
  },
): void {
  const document = background.answer(route);
  const modelPrefix = 'GET /v1/models/';
  if (document !== undefined) {
    if (isApiError(document)) writeError(response, document);
    else writeJson(response, 200, JSON.stringify(document));
  } else if (route === 'GET /v1/models') {
    writeJson(response, 200, JSON.stringify({ object: 'list', data: modelNames.map(toModel) }));
  } else if (route.startsWith(modelPrefix)) {
    const name = decodeName(route.slice(modelPrefix.length));
    const isServed = modelNames.length === 0 || modelNames.includes(name);
    if (isServed) writeJson(response, 200, JSON.stringify(toModel(name)));
    else writeError(response, modelNotFound(name));
  } else if (route === 'GET /thrice/stats') {
    const counts = stats();
    const requestsByQuestion = Object.fromEntries(counts.requestsByQuestion);
    writeJson(response, 200, JSON.stringify({ ...counts, requestsByQuestion }));
  } else {
    const [method = '', path = ''] = route.split(' ');
    writeError(response, unknownUrl(method, path));
  }
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function toModel(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'thrice-simulator' };
}

function createHttpServer(listener: RequestListener): Server {
  // Requests have no time limit, because hanging is one of the faults.
  const server = createServer({ noDelay: true, requestTimeout: 0, headersTimeout: 0 }, listener);
  server.keepAliveTimeout = keepAliveTimeoutMs;
  return server;
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `the simulator cannot listen on ${host}:${port}: ${reason}`;
    throw new ThriceError({ code: 'invalid-argument', message, cause });
  });
}

async function stopServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function openLog(path: string) {
  try {
    return openRequestLog(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problems = [`${path}: cannot be opened for writing: ${reason}`];
    throw new ThriceError({
      code: 'invalid-file',
      message: problems.join(),
      details: { problems },
      cause,
    });
  }
}

function originOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const queryAt = url.indexOf('?');
  return queryAt < 0 ? url : url.slice(0, queryAt);
}
