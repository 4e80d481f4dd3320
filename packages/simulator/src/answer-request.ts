import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerBody, jsonBody, type ReportedTokens } from './answer-body.ts';
import type { ApiError } from './api-error.ts';
import type { BackgroundResponses } from './background-responses.ts';
import { cellKeyHeader, parseCellKey, type RequestedCell, replicateOf } from './cell-key.ts';
import type { FaultPlan, PlannedFault } from './fault-plan.ts';
import { injectFault, type RenderOptions } from './inject-fault.ts';
import type { FaultKind } from './load-faults.ts';
import type { PromptRequest } from './prompt-request.ts';
import type { ServedProtocol } from './protocols/served-protocol.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { RateWindow } from './rate-windows.ts';
import type { RequestLog, RequestLogEntry } from './request-log.ts';
import { questionKey, type RequestCounter } from './request-stats.ts';
import { estimateTokens, type ModelAnswer, type SimulatedModel } from './simulated-model.ts';
import type { SimulatorClock } from './system-clock.ts';
import { writeBody, writeError, writePacedBody } from './write-response.ts';

/** Services shared by all requests. */
export interface RequestServices {
  readonly model: SimulatedModel;
  readonly faultPlan: FaultPlan | undefined;
  readonly rateLimiter: RateLimiter | undefined;
  readonly background: BackgroundResponses;
  readonly counter: RequestCounter;
  readonly log: RequestLog | undefined;
  readonly clock: SimulatorClock;
}

/** Answers the requests to models. */
export interface RequestHandler {
  handle(request: IncomingMessage, response: ServerResponse, protocol: ServedProtocol): void;
  /** What the rate limit has done until now. */
  rateWindows(): readonly RateWindow[];
  /** Counts and logs open requests as aborted. Call it after all connections have been destroyed. */
  abandonAll(): void;
}

/** Facts collected about a request while it is answered, read once when it has ended. */
interface Exchange {
  readonly requestNumber: number;
  readonly cellHeader: string | undefined;
  readonly cell: RequestedCell | undefined;
  prompt: PromptRequest | undefined;
  questionKey: string | undefined;
  fault: FaultKind | undefined;
  /** The rate limit has admitted it. */
  isAdmitted: boolean;
  /** The response, if fully sent, is a real answer. */
  isRealAnswer: boolean;
  /** The connection was ended by a fault, not by the client. */
  isCut: boolean;
  /** Reported by the response, if it is sent, or by the part of it that a fault sends. */
  tokens: ReportedTokens | undefined;
}

/** Builds the handler: reads a request, finds its answer, may inject a fault, sends, counts and logs. */
export function createRequestHandler(services: RequestServices): RequestHandler {
  const { counter, clock } = services;
  const pendingSettlers = new Set<() => void>();
  let firstRequestMs: number | undefined;

  function handle(
    request: IncomingMessage,
    response: ServerResponse,
    protocol: ServedProtocol,
  ): void {
    const nowMs = clock.now();
    firstRequestMs ??= nowMs;
    const elapsedMs = nowMs - firstRequestMs;
    const exchange = openExchange(request, counter);
    settleWhenEnded({ response, exchange, services, pendingSettlers });
    readBody(request, (body) => {
      answer({ body, response, protocol, exchange, services, elapsedMs }).catch(
        (error: unknown) => {
          failInternally(response, error);
        },
      );
    });
  }

  return {
    handle,
    rateWindows: () =>
      firstRequestMs === undefined
        ? []
        : (services.rateLimiter?.windows(clock.now() - firstRequestMs) ?? []),
    abandonAll: () => {
      for (const settle of pendingSettlers) settle();
    },
  };
}

function openExchange(request: IncomingMessage, counter: RequestCounter): Exchange {
  const header = request.headers[cellKeyHeader];
  const cellHeader = typeof header === 'string' ? header : undefined;
  return {
    requestNumber: counter.open(),
    cellHeader,
    cell: cellHeader === undefined ? undefined : parseCellKey(cellHeader),
    prompt: undefined,
    questionKey: undefined,
    fault: undefined,
    isAdmitted: false,
    isRealAnswer: false,
    isCut: false,
    tokens: undefined,
  };
}

async function answer(input: {
  readonly body: string;
  readonly response: ServerResponse;
  readonly protocol: ServedProtocol;
  readonly exchange: Exchange;
  readonly services: RequestServices;
  readonly elapsedMs: number;
}): Promise<void> {
  const { body, response, protocol, exchange, services, elapsedMs } = input;
  const { model, faultPlan, counter, clock } = services;
  const prompt = protocol.parse(body, response.req.headers);
  if ('status' in prompt) {
    writeError(response, prompt, protocol.describeError);
    return;
  }
  exchange.prompt = prompt;
  const key = questionKey({ ...prompt, cell: exchange.cellHeader });
  exchange.questionKey = key;
  const askedBeforeCount = key === undefined ? 0 : counter.ask(key);

  const reply = model.answer(prompt, exchange.cell, body);
  const refusal = askForAdmission(reply, { prompt, response, exchange, services, elapsedMs });
  if (refusal !== undefined) {
    writeError(response, refusal, protocol.describeError);
    return;
  }
  const isAnswer = !('status' in reply);
  const planned = faultPlan?.pick({
    requestNumber: exchange.requestNumber,
    elapsedMs,
    model: prompt.model,
    questionKey: key ?? '',
    drawKey: exchange.cell === undefined ? (key ?? '') : drawKeyOf(exchange.cell),
    askedBeforeCount,
    hasAnswer: isAnswer,
  });
  const render = (modelAnswer: ModelAnswer, options: RenderOptions = {}) =>
    renderAnswer(modelAnswer, { prompt, protocol, options, exchange, services });
  const noteBody = ({ tokens }: AnswerBody) => {
    exchange.tokens = tokens;
  };
  if (planned !== undefined) {
    noteFault(planned, exchange, counter);
    const noteCut = (tokens?: ReportedTokens) => {
      exchange.isCut = true;
      exchange.tokens = tokens;
    };
    const { isStream } = prompt;
    const rendering = { isStream, protocol, render, noteBody, noteCut };
    await injectFault(planned, { response, clock, reply, ...rendering });
    return;
  }
  if (!isAnswer) {
    writeError(response, reply, protocol.describeError);
    return;
  }
  exchange.isRealAnswer = true;
  const answerBody = render(reply);
  noteBody(answerBody);
  const waitsForAnswer = reply.latencyMs > 0 && !prompt.isBackground;
  if (waitsForAnswer) await writePacedBody(response, answerBody, reply.latencyMs, clock);
  else writeBody(response, answerBody);
}

/** Asks the rate limit, whose headers every response has. Returns the refusal, if it is one. */
function askForAdmission(
  reply: ModelAnswer | ApiError,
  context: {
    readonly prompt: PromptRequest;
    readonly response: ServerResponse;
    readonly exchange: Exchange;
    readonly services: RequestServices;
    readonly elapsedMs: number;
  },
): ApiError | undefined {
  const { prompt, response, exchange, services, elapsedMs } = context;
  const { rateLimiter, counter, clock } = services;
  if (rateLimiter === undefined) return undefined;
  const outputTokens = 'status' in reply ? 0 : reply.completionTokens;
  const tokens = estimateTokens(prompt.promptChars) + outputTokens;
  const { refusal, headers } = rateLimiter.admit({
    elapsedMs,
    nowMs: clock.now(),
    tokens,
    run: exchange.cell?.run,
  });
  for (let index = 0; index < headers.length; index += 2) {
    response.setHeader(headers[index] ?? '', headers[index + 1] ?? '');
  }
  exchange.isAdmitted = refusal === undefined;
  if (refusal !== undefined) {
    exchange.fault = 'rate-limit';
    counter.injected('rate-limit');
  }
  return refusal;
}

function drawKeyOf({ run, config, id, step }: RequestedCell): string {
  return [replicateOf(run), config, id, step].join('/');
}

function renderAnswer(
  answer: ModelAnswer,
  context: {
    readonly prompt: PromptRequest;
    readonly protocol: ServedProtocol;
    readonly options: RenderOptions;
    readonly exchange: Exchange;
    readonly services: RequestServices;
  },
) {
  const { prompt, protocol, options, exchange, services } = context;
  const isAltered = Object.keys(options).length > 0;
  if (answer.recorded !== undefined && !isAltered) {
    const { document, inputTokens } = answer.recorded;
    return jsonBody(document, { inputTokens, outputTokens: answer.completionTokens });
  }
  const input = {
    answer,
    hasAnswer: options.hasAnswer ?? true,
    id: `sim-${exchange.requestNumber}`,
    model: options.servedModel ?? prompt.model,
    createdSeconds: Math.floor(services.clock.now() / 1000),
    promptTokens: estimateTokens(prompt.promptChars),
  };
  return prompt.isBackground ? services.background.begin(input) : protocol.render(input, prompt);
}

function noteFault({ fault }: PlannedFault, exchange: Exchange, counter: RequestCounter): void {
  exchange.fault = fault.kind;
  // A drip is slow but delivers the real answer.
  exchange.isRealAnswer = fault.kind === 'drip';
  counter.injected(fault.kind);
}

/** Counts and logs a request exactly once, when its response is sent or its socket is closed. */
function settleWhenEnded(input: {
  readonly response: ServerResponse;
  readonly exchange: Exchange;
  readonly services: RequestServices;
  readonly pendingSettlers: Set<() => void>;
}): void {
  const { response, exchange, pendingSettlers } = input;
  const { counter, rateLimiter, log, clock } = input.services;
  const { socket } = response.req;

  const abandon = () => settle(false);
  pendingSettlers.add(abandon);
  response.on('finish', () => settle(!socket.destroyed));
  response.on('close', abandon);
  // A write after the client disconnected; 'close' has already settled the request.
  response.on('error', () => undefined);

  function settle(isSent: boolean): void {
    if (!pendingSettlers.delete(abandon)) return;
    const isOk = isSent && exchange.isRealAnswer;
    if (exchange.tokens !== undefined && (isSent || exchange.isCut)) counter.bill(exchange.tokens);
    counter.close(exchange.questionKey, isOk);
    if (exchange.isAdmitted) rateLimiter?.release();
    log?.append(toLogEntry({ response, exchange, isSent, isOk, nowMs: clock.now() }));
  }
}

function toLogEntry(input: {
  readonly response: ServerResponse;
  readonly exchange: Exchange;
  readonly isSent: boolean;
  readonly isOk: boolean;
  readonly nowMs: number;
}): RequestLogEntry {
  const { response, exchange, isSent, isOk, nowMs } = input;
  const { prompt, cellHeader, fault, isCut } = exchange;
  const { model = null, arm = null, question } = prompt ?? {};
  return {
    at: new Date(nowMs).toISOString(),
    cell: cellHeader ?? null,
    model,
    arm,
    question: question === undefined ? null : hashQuestion(question),
    status: response.headersSent ? response.statusCode : null,
    fault: fault ?? null,
    ok: isOk,
    ...(isSent || isCut ? {} : { aborted: true }),
  };
}

/** Reads the whole body of a request. */
export function readBody(request: IncomingMessage, onBody: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [first] = chunks;
    const isWhole = chunks.length === 1 && first !== undefined;
    onBody((isWhole ? first : Buffer.concat(chunks)).toString('utf8'));
  });
}

function hashQuestion(question: string): string {
  return hash('sha256', question, 'hex').slice(0, 16);
}

/** Reports a bug in the simulator to the client, which would otherwise wait forever. */
function failInternally(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.req.socket.destroy();
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  writeError(response, { status: 500, type: 'simulator_error', code: 'simulator_error', message });
}
