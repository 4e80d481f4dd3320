import type { Simulator, SimulatorClock } from '@thrice/simulator';

interface Completion {
  readonly model: string;
  readonly choices: readonly [
    { readonly message: { readonly content: string }; readonly finish_reason: string },
  ];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
    readonly completion_tokens_details: { readonly reasoning_tokens: number };
  };
}

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: null;
    readonly code: string | null;
  };
}

export interface Question {
  readonly text: string;
  readonly model?: string;
  readonly cell?: string;
  readonly extra?: object;
  readonly signal?: AbortSignal;
}

/** Sends one chat completion request. */
export async function post(simulator: Simulator, question: Question): Promise<Response> {
  const { text, model = 'm', cell, extra = {}, signal } = question;
  return await fetch(`${simulator.url}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(cell === undefined ? {} : { 'x-thrice-cell': cell }),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: text }], ...extra }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Sends a request and reads its answer. Throws if the answer is missing or incomplete. */
export async function ask(simulator: Simulator, question: Question) {
  const response = await post(simulator, question);
  const completion = (await response.json()) as Completion;
  const [choice] = completion.choices;
  return {
    status: response.status,
    text: choice.message.content,
    finishReason: choice.finish_reason,
    model: completion.model,
    usage: completion.usage,
  };
}

/** Sends a request and reads its error. Throws if there is none. */
export async function askForError(simulator: Simulator, question: Question) {
  const response = await post(simulator, question);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, headers: response.headers, ...error };
}

/** The data of each server-sent event. */
export function readEvents(body: string): string[] {
  return body
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));
}

/** A clock whose waits end immediately and advance its time. */
export class SkippingClock implements SimulatorClock {
  nowMs = Date.parse('2026-01-02T03:04:05.000Z');
  readonly waitsMs: number[] = [];

  now(): number {
    return this.nowMs;
  }

  async sleep(ms: number): Promise<void> {
    this.waitsMs.push(ms);
    this.nowMs += ms;
    await Promise.resolve();
  }
}

/** A stopped clock: waits end only when they are aborted or all released. */
export class StoppedClock implements SimulatorClock {
  #release: () => void = () => undefined;
  readonly #released = new Promise<void>((resolve) => {
    this.#release = resolve;
  });
  readonly #onSleep: (sleeperCount: number) => void;
  #sleeperCount = 0;

  /** @param onSleep - Called with the number of pending waits whenever one starts. */
  constructor(onSleep: (sleeperCount: number) => void = () => undefined) {
    this.#onSleep = onSleep;
  }

  now(): number {
    return 0;
  }

  release(): void {
    this.#release();
  }

  async sleep(_ms: number, signal: AbortSignal): Promise<void> {
    const givenUp = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#sleeperCount += 1;
    this.#onSleep(this.#sleeperCount);
    await Promise.race([givenUp, this.#released]);
  }
}
