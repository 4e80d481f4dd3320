import { type ModelClient, type ModelRequest, type ModelResponse, ThriceError } from '@thrice/core';

/** What a fake model does with a request: answer, or fail. */
export type FakeAnswer = (
  request: ModelRequest,
  signal: AbortSignal,
) => ModelResponse | Error | Promise<ModelResponse | Error>;

/** A model that does as it is told and keeps what it was asked. */
export class FakeModelClient implements ModelClient {
  readonly requests: ModelRequest[] = [];
  #answer: FakeAnswer;

  constructor(answer: FakeAnswer) {
    this.#answer = answer;
  }

  /** Answers differently from now on. */
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

/** Takes the answers one after the other, the last one for ever. */
export function inTurn(...answers: readonly (ModelResponse | Error)[]): FakeAnswer {
  let next = 0;
  return () => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    return answer ?? new Error('no answer was given to the fake model');
  };
}

/** Never answers; fails as a client does when its signal aborts. */
export const untilAborted: FakeAnswer = (_request, signal) =>
  new Promise((resolve) => {
    const stop = () => resolve(new ThriceError({ code: 'interrupted', message: 'call aborted' }));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
