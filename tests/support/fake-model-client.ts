import {
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import { aModelResponse, aUsage } from './builders.ts';

/** How a fake model handles a request: with an answer or an error. */
export type FakeAnswer = (
  request: ModelRequest,
  signal: AbortSignal,
) => ModelResponse | Error | Promise<ModelResponse | Error>;

/** A model with programmed answers that records its requests. */
export class FakeModelClient implements ModelClient {
  readonly requests: ModelRequest[] = [];
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
