import {
  type BackgroundClient,
  type BackgroundReply,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  type PendingResponse,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import { NO_OUTPUT, UNKNOWN_USAGE } from '../../packages/core/src/domain/call.ts';
import { aModelResponse, aUsage } from './builders.ts';

/** How a fake model handles a request: with an answer or an error. */
export type FakeAnswer = (
  request: ModelRequest,
  signal: AbortSignal,
) => ModelResponse | Error | Promise<ModelResponse | Error>;

/** A model with programmed answers that records its requests. */
export class FakeModelClient implements ModelClient {
  readonly requests: ModelRequest[] = [];
  readonly background = new FakeBackgroundClient();
  #answer: FakeAnswer;

  constructor(answer: FakeAnswer) {
    this.#answer = answer;
  }

  /** Replaces the programmed answers. */
  become(answer: FakeAnswer): void {
    this.#answer = answer;
  }

  async send(request: ModelRequest, signal: AbortSignal): Promise<ModelResponse> {
    this.requests.push(request);
    const answer = await this.#answer(request, signal);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** What a fake vendor replies. */
export type FakeReply = ModelResponse | 'pending' | Error;

/** A vendor's background mode with programmed replies that records what it is asked. */
export class FakeBackgroundClient implements BackgroundClient {
  /** The call ids of the requests that were submitted; the first gets the response `resp_1`. */
  readonly callIds: string[] = [];
  /** The names of the responses that were asked for, or cancelled. */
  readonly polled: string[] = [];
  readonly cancelled: string[] = [];
  onSubmit: () => FakeReply | Promise<FakeReply> = () => 'pending';
  onPoll: (vendorId: string) => FakeReply | Promise<FakeReply> = () => aModelResponse();
  onCancel: () => FakeReply = () => aCancelledResponse();

  async submit(request: ModelRequest, callId: string): Promise<BackgroundReply> {
    this.callIds.push(callId);
    const vendorId = `resp_${this.callIds.length}`;
    return toReply(await this.onSubmit(), request, vendorId);
  }

  async poll(request: ModelRequest, { vendorId }: PendingResponse): Promise<BackgroundReply> {
    this.polled.push(vendorId);
    return toReply(await this.onPoll(vendorId), request, vendorId);
  }

  async cancel(request: ModelRequest, { vendorId }: PendingResponse): Promise<BackgroundReply> {
    this.cancelled.push(vendorId);
    return toReply(this.onCancel(), request, vendorId);
  }
}

/** What a vendor sends of a response that was cancelled. */
export function aCancelledResponse(): ModelResponse {
  const message = 'the response is cancelled';
  return aModelResponse({
    output: NO_OUTPUT,
    usage: UNKNOWN_USAGE,
    fault: new ThriceError({ code: 'model-unavailable', message }),
  });
}

function toReply(reply: FakeReply, { lane }: ModelRequest, vendorId: string): BackgroundReply {
  if (reply instanceof Error) throw reply;
  if (reply !== 'pending') return { kind: 'ended', response: reply };
  return { kind: 'pending', endpoint: lane.endpoints[0] ?? '', vendorId, rateLimits: {} };
}

/** Returns the answers one after another, then repeats the last one. */
export function inTurn(...answers: readonly (ModelResponse | Error)[]): FakeAnswer {
  let next = 0;
  return () => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    return answer ?? new Error('the fake model has no answers');
  };
}

/** Never answers. Fails with `interrupted` when the signal aborts, as a real client does. */
export const untilAborted: FakeAnswer = (_request, signal) =>
  new Promise((resolve) => {
    const stop = () => resolve(new ThriceError({ code: 'interrupted', message: 'call aborted' }));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

/** Resolves, when the signal aborts, with the part of a response that has arrived, as a real client does. */
export const cutOffByAbort: FakeAnswer = async (request, signal) => {
  const fault = await untilAborted(request, signal);
  return aModelResponse({
    fault: toThriceError(fault),
    usage: aUsage({ inputTokens: null, outputTokens: null }),
  });
};
