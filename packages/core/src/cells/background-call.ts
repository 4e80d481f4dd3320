import { NO_OUTPUT, UNKNOWN_USAGE } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { PendingResponse } from '../domain/pending-response.ts';
import type { AcceptedSubmission, Submission } from '../domain/submission.ts';
import { type ErrorCode, ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { RateLimitHeaders } from '../ports/governor.ts';
import type { Ledger } from '../ports/ledger.ts';
import type {
  BackgroundClient,
  BackgroundReply,
  ModelRequest,
  ModelResponse,
} from '../ports/model-client.ts';
import { leaseLost } from './cell-errors.ts';

/** How far one delivery has brought a call. */
export type BackgroundProgress =
  /** The vendor has not ended the response; ask again after a while. */
  | { readonly kind: 'pending'; readonly delayMs: number; readonly rateLimits: RateLimitHeaders }
  /** What the vendor sent, or that it will send nothing. The call is paid for. */
  | { readonly kind: 'ended'; readonly response: ModelResponse; readonly submission: Submission }
  /** No response was submitted, or none could be asked for. */
  | {
      readonly kind: 'failed';
      readonly error: ThriceError;
      /** The response that was not reached is still expected. */
      readonly isExpected: boolean;
    };

/** What a background call needs. */
export interface BackgroundCallInit {
  readonly key: CellKey;
  readonly request: ModelRequest;
  readonly client: BackgroundClient;
  readonly signal: AbortSignal;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Writes to the ledger for as long as there is time. */
  readonly persist: <T>(write: () => Promise<T>) => Promise<T>;
  /** The last worker died before it could note whether the vendor had accepted this submission. */
  readonly onUnknown: (submission: Submission) => void;
}

/**
 * A call whose response the vendor prepares in the background: submitted once, then polled by whoever has the cell.
 *
 * State first: a submission is announced in the ledger before it is sent, and its name is recorded before anybody
 * waits for it. So no two workers submit for one step, and a worker that dies in between is found out.
 */
export class BackgroundCall {
  readonly #init: BackgroundCallInit;

  constructor(init: BackgroundCallInit) {
    this.#init = init;
  }

  /**
   * Submits the request, or asks for the response that was submitted before.
   *
   * @param existing - The step's submission in the ledger.
   * @param next - The facts of a submission, if one is needed.
   */
  async advance(
    existing: Submission | undefined,
    next: Pick<Submission, 'callId' | 'waitMs'>,
  ): Promise<BackgroundProgress> {
    if (existing?.state === 'accepted') return await this.#poll(existing);
    if (existing?.state === 'announced') this.#init.onUnknown(existing);
    const { clock, request } = this.#init;
    const submission: Submission = {
      schemaVersion: 1,
      state: 'announced',
      step: request.step,
      submittedAtMs: clock.now(),
      ...next,
    };
    if (!(await this.#replace(existing, submission))) return failed(leaseLost({ isUnsent: true }));
    return await this.#submit(submission);
  }

  /** Notes that a submission has led to no answer. */
  async end(submission: Submission, reason: ErrorCode): Promise<void> {
    const { schemaVersion, step, callId, submittedAtMs, waitMs } = submission;
    const facts = { schemaVersion, step, callId, submittedAtMs, waitMs };
    await this.#replace(submission, { state: 'ended', ...facts, reason });
  }

  async #submit(submission: Submission): Promise<BackgroundProgress> {
    const { client, request, signal } = this.#init;
    const reply = await client.submit(request, submission.callId, signal).catch(toThriceError);
    if (reply instanceof ThriceError) {
      await this.end(submission, reply.code);
      return failed(reply);
    }
    if (reply.kind === 'ended') return { ...reply, submission };
    const { endpoint, vendorId } = reply;
    const accepted: Submission = { ...submission, state: 'accepted', endpoint, vendorId };
    if (await this.#replace(submission, accepted)) return this.#pending(accepted, reply);
    // Another worker has the cell and will ask for a response of its own.
    await this.#cancel(reply).catch(() => undefined);
    return { kind: 'ended', response: withoutAnswer(reply, leaseLost()), submission: accepted };
  }

  async #poll(submission: AcceptedSubmission): Promise<BackgroundProgress> {
    const { client, request, signal, clock } = this.#init;
    const reply = await client.poll(request, submission, signal).then(orFault).catch(toThriceError);
    const ageMs = clock.now() - submission.submittedAtMs;
    const isLate = ageMs >= request.lane.timeoutMs;
    if (!(reply instanceof ThriceError)) {
      if (reply.kind === 'ended') return { ...reply, submission };
      return isLate ? await this.#giveUp(submission) : this.#pending(submission, reply);
    }
    if (reply.code === 'unknown-response') {
      if (ageMs < limits.responseVisibleMs) return this.#pending(submission, { rateLimits: {} });
      return { kind: 'ended', response: withoutAnswer(submission, reply), submission };
    }
    if (reply.class === 'rejected') {
      return { kind: 'ended', response: withoutAnswer(submission, reply), submission };
    }
    if (reply.class !== 'transient' || isLate) return failed(reply);
    return { kind: 'failed', error: after(reply, this.#delayMs(submission)), isExpected: true };
  }

  /** Stops a response that takes longer than its lane allows. One that ends at the last moment counts. */
  async #giveUp(submission: AcceptedSubmission): Promise<BackgroundProgress> {
    const { timeoutMs } = this.#init.request.lane;
    const reply = await this.#cancel(submission).then(orFault).catch(toThriceError);
    const isEnded = !(reply instanceof ThriceError) && reply.kind === 'ended';
    if (isEnded && reply.response.fault === undefined) return { ...reply, submission };
    const fault = new ThriceError({
      code: 'model-timeout',
      message: `response ${submission.vendorId} did not end within ${timeoutMs / 1000} s and was cancelled`,
    });
    const response = isEnded ? { ...reply.response, fault } : withoutAnswer(submission, fault);
    return { kind: 'ended', response, submission };
  }

  async #cancel(response: PendingResponse): Promise<BackgroundReply> {
    const { client, request, signal } = this.#init;
    return await client.cancel(request, response, signal);
  }

  async #replace(existing: Submission | undefined, submission: Submission): Promise<boolean> {
    const { ledger, key, persist } = this.#init;
    return await persist(() => ledger.replaceSubmission(key, existing, submission));
  }

  #pending(
    submission: Submission,
    { rateLimits }: { readonly rateLimits: RateLimitHeaders },
  ): BackgroundProgress {
    return { kind: 'pending', delayMs: this.#delayMs(submission), rateLimits };
  }

  /** A tenth of the time that the response has taken so far, so that polling adds no more than that. */
  #delayMs({ submittedAtMs }: Submission): number {
    const ageMs = this.#init.clock.now() - submittedAtMs;
    return Math.round(Math.min(limits.pollCapMs, Math.max(limits.pollBaseMs, ageMs / 10)));
  }
}

/** What is wrong with a body that may be whole the next time it is asked for, unless it says how the response ended. */
const BROKEN_BODIES: readonly ErrorCode[] = [
  'connection-failed',
  'truncated-response',
  'model-timeout',
  'interrupted',
];

/** @throws {ThriceError} The fault of a body that did not arrive as the vendor meant it. */
function orFault(reply: BackgroundReply): BackgroundReply {
  if (reply.kind === 'pending') return reply;
  const { fault, finishReason } = reply.response;
  const isBroken = fault !== undefined && BROKEN_BODIES.includes(fault.code);
  if (isBroken && finishReason === null) throw fault;
  return reply;
}

/** A response that was accepted, and so may be billed, but of which nothing was received. */
function withoutAnswer({ endpoint, vendorId }: PendingResponse, fault: ThriceError): ModelResponse {
  return {
    endpoint,
    servedModel: null,
    output: NO_OUTPUT,
    finishReason: null,
    rawFinishReason: null,
    usage: UNKNOWN_USAGE,
    latencyMs: 0,
    ttftMs: null,
    rateLimits: {},
    raw: { id: vendorId },
    fault,
  };
}

/** Returns the same error with a wait of at least so long. */
function after({ code, message, details, cause }: ThriceError, delayMs: number): ThriceError {
  const retryAfterMs = Math.max(details.retryAfterMs ?? 0, delayMs);
  return new ThriceError({ code, message, details: { ...details, retryAfterMs }, cause });
}

function failed(error: ThriceError): BackgroundProgress {
  return { kind: 'failed', error, isExpected: false };
}
