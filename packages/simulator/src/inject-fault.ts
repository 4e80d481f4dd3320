import type { ServerResponse } from 'node:http';
import {
  type AnswerBody,
  jsonBody,
  type ReportedTokens,
  tokensWithin,
  truncateBody,
} from './answer-body.ts';
import type { ApiError } from './api-error.ts';
import type { PlannedFault } from './fault-plan.ts';
import type { FaultOf } from './load-faults.ts';
import type { ServedProtocol } from './protocols/served-protocol.ts';
import { instantAnswer, type ModelAnswer } from './simulated-model.ts';
import type { SimulatorClock } from './system-clock.ts';
import {
  waitUnlessClosed,
  writeBody,
  writeDrippingBody,
  writeError,
  writePacedBody,
  writePartialBody,
} from './write-response.ts';

const defaultUsageLimitSeconds = 60;

/** The request that a fault is injected into. */
export interface FaultContext {
  readonly response: ServerResponse;
  readonly clock: SimulatorClock;
  /** The answer or error the model would have given. */
  readonly reply: ModelAnswer | ApiError;
  readonly isStream: boolean;
  /** The protocol of the request. */
  readonly protocol: ServedProtocol;
  /** Renders an answer in the requested format. */
  readonly render: (answer: ModelAnswer, options?: RenderOptions) => AnswerBody;
  /** Records what is billed once the body that is about to be sent has been sent. */
  readonly noteBody: (body: AnswerBody) => void;
  /**
   * Records that the fault, not the client, is about to close the connection.
   *
   * @param tokens - Reported before that.
   */
  readonly noteCut: (tokens?: ReportedTokens) => void;
}

/** How a rendered answer differs from the real one. */
export interface RenderOptions {
  /** @default the requested model */
  readonly servedModel?: string;
  /** @default true */
  readonly hasAnswer?: boolean;
}

/** Responds to a request as the fault prescribes. */
export async function injectFault(planned: PlannedFault, context: FaultContext): Promise<void> {
  const { fault, windowRestSeconds } = planned;
  const { response, reply, render, noteBody, protocol } = context;
  switch (fault.kind) {
    case 'rate-limit':
    case 'quota':
    case 'unauthorized':
    case 'server-error':
    case 'overloaded':
      writeError(response, errorOfFault(fault, windowRestSeconds), protocol.describeError);
      return;
    case 'usage-limit': {
      const seconds = fault.resetSeconds ?? windowRestSeconds ?? defaultUsageLimitSeconds;
      const body = render(instantAnswer(usageLimitText(seconds, context.clock)));
      noteBody(body);
      writeBody(response, body);
      return;
    }
    case 'error-object': {
      const error = errorOfFault({ kind: fault.error ?? 'server-error' }, windowRestSeconds);
      writeBody(response, errorInBody(error, context));
      return;
    }
    case 'hang':
      await hang(fault, context);
      return;
    case 'reset':
      await resetConnection(fault, context);
      return;
    case 'drip':
    case 'truncated-json':
    case 'empty-content':
    case 'wrong-model':
    case 'content-filter':
    case 'no-choices':
      // The plan picks these faults only for requests that have an answer.
      if ('status' in reply) writeError(response, reply, protocol.describeError);
      else await corruptAnswer(fault, reply, context);
      return;
  }
}

/** An error in a body that is otherwise successful, as one event for a stream. */
function errorInBody(error: ApiError, { protocol, isStream }: FaultContext): AnswerBody {
  if (!isStream) return jsonBody(protocol.describeError(error));
  const pieces = [protocol.errorEvent(error)];
  return { contentType: 'text/event-stream', pieces, tokens: undefined };
}

type CorruptingFault = FaultOf<
  'drip' | 'truncated-json' | 'empty-content' | 'wrong-model' | 'content-filter' | 'no-choices'
>;

async function corruptAnswer(
  fault: CorruptingFault,
  answer: ModelAnswer,
  { response, clock, render, noteBody }: FaultContext,
): Promise<void> {
  const body = corruptBody(fault, answer, render);
  noteBody(body);
  if (fault.kind === 'drip') await writeDrippingBody(response, body, fault.seconds, clock);
  else await writePacedBody(response, body, answer.latencyMs, clock);
}

function corruptBody(
  fault: CorruptingFault,
  answer: ModelAnswer,
  render: FaultContext['render'],
): AnswerBody {
  switch (fault.kind) {
    case 'drip':
      return render(answer);
    case 'truncated-json':
      return truncateBody(render(answer));
    case 'empty-content':
      return render({ ...answer, text: '', finishReason: 'length' });
    case 'wrong-model':
      return render(answer, { servedModel: fault.servedModel });
    case 'content-filter':
      return render({ ...answer, finishReason: 'content_filter' });
    case 'no-choices':
      return render(answer, { hasAnswer: false });
  }
}

async function resetConnection(fault: FaultOf<'reset'>, context: FaultContext): Promise<void> {
  const { response, clock, reply, render, noteCut } = context;
  const { afterBytes = 0 } = fault;
  if (afterBytes === 0 || 'status' in reply) {
    noteCut();
    response.req.socket.resetAndDestroy();
    return;
  }
  if (!(await waitUnlessClosed(response, reply.latencyMs, clock))) return;
  const body = render(reply);
  noteCut(tokensWithin(body, writePartialBody(response, body, afterBytes)));
}

async function hang(fault: FaultOf<'hang'>, context: FaultContext): Promise<void> {
  const { response, clock, noteCut } = context;
  // Without a duration, the client has to close the connection.
  if (fault.seconds === undefined) return;
  if (!(await waitUnlessClosed(response, fault.seconds * 1000, clock))) return;
  noteCut();
  response.req.socket.destroy();
}

/** Returns the error response of a fault, with the message that vendors use. */
function errorOfFault(
  fault: FaultOf<'rate-limit' | 'quota' | 'unauthorized' | 'server-error' | 'overloaded'>,
  windowRestSeconds: number | undefined,
): ApiError {
  switch (fault.kind) {
    case 'rate-limit':
      return {
        status: 429,
        type: 'requests',
        code: 'rate_limit_exceeded',
        message: 'Rate limit reached for requests. Please try again later.',
        headers: secondsHeader('Retry-After', fault.retryAfterSeconds, ''),
      };
    case 'quota':
      return {
        ...quotaRefusals[fault.status ?? 429],
        headers: usedUpHeaders(
          fault.resetSeconds ?? (windowRestSeconds && Math.ceil(windowRestSeconds)),
        ),
      };
    case 'unauthorized':
      return {
        status: 401,
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        message: 'Incorrect API key provided.',
      };
    case 'server-error':
      return {
        status: fault.status ?? 500,
        type: 'server_error',
        code: 'server_error',
        message: 'The server had an error while processing your request. Sorry about that!',
      };
    case 'overloaded':
      return {
        status: 529,
        type: 'overloaded_error',
        code: 'overloaded_error',
        message: 'Overloaded',
      };
  }
}

/**
 * How vendors refuse a call because the quota or the credit of an account is used up:
 * https://platform.openai.com/docs/guides/error-codes, https://github.com/danilofalcao/jarvis/issues/62 (DeepSeek) and
 * https://github.com/anthropics/claude-quickstarts/issues/229 (2026-11).
 */
const quotaRefusals = {
  429: {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  },
  402: {
    status: 402,
    type: 'unknown_error',
    code: 'invalid_request_error',
    message: 'Insufficient Balance',
  },
  400: {
    status: 400,
    type: 'invalid_request_error',
    code: null,
    message:
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  },
} as const satisfies Record<number, ApiError>;

/** A reset says something only of a limit that is used up. */
function usedUpHeaders(resetSeconds: number | undefined): readonly string[] {
  if (resetSeconds === undefined) return [];
  const reset = secondsHeader('x-ratelimit-reset-requests', resetSeconds, 's');
  return ['x-ratelimit-remaining-requests', '0', ...reset];
}

function secondsHeader(name: string, seconds: number | undefined, unit: string): readonly string[] {
  return seconds === undefined ? [] : [name, `${seconds}${unit}`];
}

/** The text that a subscription returns instead of an answer, with status 200. */
function usageLimitText(resetSeconds: number, clock: SimulatorClock): string {
  return `Claude AI usage limit reached|${Math.ceil(clock.now() / 1000 + resetSeconds)}`;
}
