import { randomUUID } from 'node:crypto';
import { type AnswerBody, jsonBody, type RenderInput, tokensOf } from './answer-body.ts';
import type { ApiError } from './api-error.ts';
import { describeResponse, type ResponseStatus } from './protocols/responses-protocol.ts';
import type { SimulatorClock } from './system-clock.ts';

/** Share of its latency that a response is queued for. */
const queuedRatio = 0.3;

const retrievePattern = /^GET \/v1\/responses\/([^/]+)$/;
const cancelPattern = /^POST \/v1\/responses\/([^/]+)\/cancel$/;

interface StoredResponse {
  readonly input: RenderInput;
  readonly startedMs: number;
  isCancelled: boolean;
}

/**
 * The responses that were asked for in the background, in memory.
 *
 * queued --time--> in_progress --time--> completed or incomplete; queued or in_progress --cancel--> cancelled
 *
 * Their names are random: one that an earlier simulator has given is unknown, never another's.
 */
export class BackgroundResponses {
  readonly #clock: SimulatorClock;
  readonly #responses = new Map<string, StoredResponse>();

  constructor(clock: SimulatorClock) {
    this.#clock = clock;
  }

  /**
   * Begins a response.
   *
   * @returns What its request is answered with. The tokens are billed from now on: the model works, whether anybody
   *   comes for the answer or not.
   */
  begin(input: RenderInput): AnswerBody {
    const named = { ...input, id: randomUUID().replaceAll('-', '') };
    const response = { input: named, startedMs: this.#clock.now(), isCancelled: false };
    this.#responses.set(`resp_${named.id}`, response);
    return jsonBody(describeResponse(named, 'queued'), tokensOf(named));
  }

  /**
   * Answers a request about a response.
   *
   * @param route - Method and path.
   * @returns The response or the refusal; undefined if the request is about something else.
   */
  answer(route: string): object | ApiError | undefined {
    const cancelled = cancelPattern.exec(route)?.[1];
    const id = cancelled ?? retrievePattern.exec(route)?.[1];
    if (id === undefined) return undefined;
    const response = this.#responses.get(id);
    if (response === undefined) return responseNotFound(id);
    if (cancelled !== undefined && this.#isPending(response)) response.isCancelled = true;
    return describeResponse(response.input, this.#statusOf(response));
  }

  #isPending(response: StoredResponse): boolean {
    const status = this.#statusOf(response);
    return status === 'queued' || status === 'in_progress';
  }

  #statusOf({ input, startedMs, isCancelled }: StoredResponse): ResponseStatus {
    if (isCancelled) return 'cancelled';
    const { latencyMs } = input.answer;
    const elapsedMs = this.#clock.now() - startedMs;
    if (elapsedMs >= latencyMs) return 'ended';
    return elapsedMs < latencyMs * queuedRatio ? 'queued' : 'in_progress';
  }
}

/**
 * The refusal of an unknown name, as vLLM words it after OpenAI.
 *
 * @see https://github.com/vllm-project/vllm/pull/22137 (2025-08)
 */
function responseNotFound(id: string): ApiError {
  return {
    status: 404,
    type: 'invalid_request_error',
    code: null,
    message: `Response with id '${id}' not found.`,
  };
}
