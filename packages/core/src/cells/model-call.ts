import type { Lane } from '../domain/benchmark.ts';
import type { ServedModelPolicy } from '../domain/benchmark-spec.ts';
import { type JournalEntry, type JournalPlace, UNKNOWN_USAGE } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { Submission } from '../domain/submission.ts';
import { assertNever, ThriceError, toThriceError } from '../errors.ts';
import type { Permit } from '../ports/governor.ts';
import type { ModelRequest, ModelResponse } from '../ports/model-client.ts';
import { BackgroundCall, type BackgroundProgress } from './background-call.ts';
import type { BudgetRefusal } from './call-budget.ts';
import type { CallJournal } from './call-journal.ts';
import type { CallOption } from './call-options.ts';
import { openBreakerFor } from './cell-breakers.ts';
import { asLastingLimit, noBackgroundMode } from './cell-errors.ts';
import { asNoAttempt, endOf, type FailedCall, failed } from './failed-call.ts';
import type { HeldLease } from './heartbeat.ts';
import { isCertainlyUnbilled } from './is-certainly-unbilled.ts';
import { isServerResponse } from './lane-health.ts';
import { recordResponse } from './record-response.ts';
import type { Worker } from './worker.ts';

/** What became of a call. */
export type CallOutcome =
  /** It answers its step. */
  | { readonly kind: 'recorded'; readonly entry: JournalEntry }
  | {
      readonly kind: 'failed';
      readonly call: FailedCall;
      /** A response in the background could not be asked for, and is still expected. */
      readonly isExpected: boolean;
    }
  /** The vendor prepares the response: to be asked for after a while. */
  | {
      readonly kind: 'pending';
      readonly delayMs: number;
      /** It waits for batches: whoever ends them has its task delivered. @default false */
      readonly isBatched?: boolean;
    }
  /** Not sent, for now: what calls in flight leave of the budget may be enough, or nobody could ask. */
  | { readonly kind: 'budget-short' }
  /** Not sent. */
  | { readonly kind: 'budget-refused'; readonly refusal: BudgetRefusal };

/** When a call was sent, and under which id. */
interface SentRequest {
  readonly callId: string;
  readonly startedAtMs: number;
  /** Monotonic; of a response in the background, when it was last asked for. */
  readonly startedMs: number;
  readonly waitMs: number;
}

/** What {@link ModelCall} needs. */
export interface ModelCallInit {
  readonly key: CellKey;
  readonly option: CallOption;
  /** That of the request. */
  readonly lane: Lane;
  readonly servedModel: ServedModelPolicy;
  readonly place: JournalPlace;
  readonly permit: Permit;
  readonly lease: HeldLease;
  readonly journal: CallJournal;
  readonly worker: Worker;
  /** When the delivery began, ms since 1970, and how many calls it has made, this one included: they name the call. */
  readonly deliveredAtMs: number;
  readonly callCount: number;
  /** No worker has made a call for the cell before. */
  readonly isFirst: boolean;
  /** The last worker died before it could note whether the vendor had accepted this submission. */
  readonly onUnknown: (submission: Submission) => void;
}

/**
 * A call of a cell under its permit: reserved before it is sent, and recorded before anything acts on the response.
 *
 * A failed call is a value, not an error: what it means for the cell is not decided here.
 */
export class ModelCall {
  readonly #init: ModelCallInit;
  readonly #sent: SentRequest;

  constructor(init: ModelCallInit) {
    const { clock, owner } = init.worker;
    this.#init = init;
    this.#sent = {
      callId: `${owner} ${init.deliveredAtMs} ${init.callCount}`,
      startedAtMs: clock.now(),
      startedMs: clock.monotonicMs(),
      waitMs: init.permit.waitMs,
    };
  }

  /** Makes the call. To be used once. */
  async make(): Promise<CallOutcome> {
    const { option, worker, lane, lease } = this.#init;
    if (option.request.isBackground) return await this.#makeInBackground();
    const unsent = await this.#reserve(this.#sent.callId);
    if (unsent !== undefined) return unsent;
    const response = await worker
      .clientFor(lane)
      .send(this.#toModelRequest(), lease.signal)
      .catch(toThriceError);
    const stop = response instanceof ThriceError ? response : response.fault;
    if (stop?.code === 'interrupted') this.#reportStop();
    return response instanceof ThriceError
      ? toOutcome(await this.#endUnpaid(response, this.#sent.callId))
      : await this.#endPaid(response, this.#sent);
  }

  /** Submits a call, or asks how far it is. While the vendor works on it, the cell waits in the queue. */
  async #makeInBackground(): Promise<CallOutcome> {
    const { key, option, worker, isFirst, callCount } = this.#init;
    const { step } = option;
    const { startedAtMs, waitMs } = this.#sent;
    const call = this.#openBackgroundCall();
    const existing = isFirst ? undefined : (await worker.ledger.readSubmissions(key)).get(step);
    // Told to the vendor: without the name of the worker, which has that of its host.
    const callId = `${startedAtMs} ${callCount} ${worker.random().toString(36).slice(2)}`;
    if (existing?.state !== 'accepted') {
      const unsent = await this.#reserve(callId);
      if (unsent !== undefined) return unsent;
    }
    const progress = await call.advance(existing, { callId, waitMs });
    switch (progress.kind) {
      case 'pending':
        return await this.#endPending(progress);
      case 'failed':
        // Stopping to ask loses nothing.
        if (progress.error.code === 'interrupted' && existing?.state !== 'accepted')
          this.#reportStop();
        return await this.#endUnanswered(progress, callId);
      case 'ended': {
        const ended = await this.#endInBackground(progress);
        if (ended.kind === 'failed') await call.end(progress.submission, ended.call.error.code);
        return ended;
      }
      default:
        return assertNever(progress);
    }
  }

  /** Leaves a response to the vendor, which works on it. */
  async #endPending({
    rateLimits,
    delayMs,
  }: Extract<BackgroundProgress, { readonly kind: 'pending' }>): Promise<CallOutcome> {
    const { option, worker, permit } = this.#init;
    worker.laneHealth.noteResponse(option.request.lane, this.#sent.startedMs);
    this.#reportResponse();
    await permit.settle({ kind: 'answered', usage: UNKNOWN_USAGE, rateLimits });
    return { kind: 'pending', delayMs };
  }

  /** @param callId - Of the submission. */
  async #endUnanswered(
    { error, isExpected }: Extract<BackgroundProgress, { readonly kind: 'failed' }>,
    callId: string,
  ): Promise<CallOutcome> {
    // What is still expected stays reserved.
    const ended = await this.#endUnpaid(error, isExpected ? this.#sent.callId : callId);
    return { kind: 'failed', call: isExpected ? asNoAttempt(ended) : ended, isExpected };
  }

  /** Records a response that has ended, as a call that took since its submission. */
  async #endInBackground({
    submission,
    response,
  }: Extract<BackgroundProgress, { readonly kind: 'ended' }>): Promise<CallOutcome> {
    if (response.fault?.code === 'interrupted') this.#reportStop();
    const { callId, submittedAtMs: startedAtMs, waitMs, state } = submission;
    const tookMs = Math.max(0, this.#init.worker.clock.now() - startedAtMs);
    const latencyMs = state === 'accepted' ? tookMs : response.latencyMs;
    const { startedMs } = this.#sent;
    return await this.#endPaid(
      { ...response, latencyMs },
      { callId, startedAtMs, waitMs, startedMs },
    );
  }

  #openBackgroundCall(): BackgroundCall {
    const { key, option, worker, lane, lease, journal, onUnknown } = this.#init;
    const { background: client } = worker.clientFor(lane);
    if (client === undefined) throw noBackgroundMode(option.request);
    return new BackgroundCall({
      key,
      request: this.#toModelRequest(),
      client,
      signal: lease.signal,
      ledger: worker.ledger,
      clock: worker.clock,
      persist: (write) => journal.persist(write),
      onUnknown,
    });
  }

  #toModelRequest(): ModelRequest {
    const { key: cell, option, lane } = this.#init;
    const { isBackground: _, ...parameters } = option.request;
    return { ...parameters, lane, cell, step: option.step };
  }

  /** Reserves the worst case of a call that is about to be sent. Returns why it is not sent instead. */
  async #reserve(callId: string): Promise<CallOutcome | undefined> {
    const { key, option, worker } = this.#init;
    const { step, request } = option;
    if (worker.budget === undefined) return undefined;
    const reserving = await worker.budget
      .reserve(key, { step, callId, request })
      .catch(toThriceError);
    if (reserving instanceof ThriceError) {
      // A store that is away says nothing about the cell.
      if (reserving.code === 'store-unavailable') throw reserving;
      return toOutcome(failed(reserving));
    }
    if (reserving.kind === 'refused') return { kind: 'budget-refused', refusal: reserving };
    return reserving.kind === 'reserved' ? undefined : { kind: 'budget-short' };
  }

  /** Replaces the worst case of a call by its cost; null where the vendor may have billed it, but nobody knows. */
  async #settleBudget(callId: string, costUsd: number | null): Promise<void> {
    const { key: cell, option, worker } = this.#init;
    await worker.budget?.settle({ cell, step: option.step, callId }, costUsd);
  }

  /** Ends a request that brought no response that is paid for. */
  async #endUnpaid(error: ThriceError, callId: string): Promise<FailedCall> {
    const { key, option, worker } = this.#init;
    await this.#settleBudget(callId, isCertainlyUnbilled(error) ? 0 : null);
    const diagnosis = worker.laneHealth.noteFailure(option.request.lane, error, {
      cell: `${key.run} ${key.config} ${key.id}`,
      startedAtMs: this.#sent.startedMs,
    });
    // Before the permit returns: the next cell that gets it must not make the same call.
    await openBreakerFor(error, { target: option.request, diagnosis }, worker);
    if (isServerResponse(error)) this.#reportResponse();
    return { ...(await this.#settleFailed(error)), diagnosis };
  }

  /** Ends a request that brought a response, which is paid for. */
  async #endPaid(response: ModelResponse, sent: SentRequest): Promise<CallOutcome> {
    const { key, option, place, servedModel, worker, permit, journal } = this.#init;
    const { request } = option;
    const { callId, startedAtMs, waitMs } = sent;
    const paid = { key, option, place, servedModel, callId, startedAtMs, waitMs, response };
    const recorded = await recordResponse(paid, (entry) => journal.commit(entry), worker);
    const isAnswer = !(recorded instanceof ThriceError);
    if (!isAnswer) await openBreakerFor(recorded, { target: request }, worker);
    if (isAnswer || isServerResponse(recorded)) {
      worker.laneHealth.noteResponse(request.lane, sent.startedMs);
      this.#reportResponse();
    }
    if (!isAnswer) return toOutcome(await this.#settleFailed(recorded));
    const { usage, rateLimits } = response;
    await permit.settle({ kind: 'answered', usage, rateLimits });
    return { kind: 'recorded', entry: recorded };
  }

  /** Returns the permit of a failed call, and blocks a lane that does nothing but refuse. */
  async #settleFailed(error: ThriceError): Promise<FailedCall> {
    const { option, worker, permit } = this.#init;
    const { delayMs, hasOnlyRefused } = await permit.settle(endOf(error));
    if (!hasOnlyRefused) return { error, delayMs };
    const lasting = asLastingLimit(error);
    await openBreakerFor(lasting, { target: option.request }, worker);
    return { error: lasting, delayMs: 0 };
  }

  #reportResponse(): void {
    const { key, option, worker } = this.#init;
    const { lane, model } = option.request;
    worker.observe({ kind: 'server-responded', key, lane, model });
  }

  #reportStop(): void {
    const { key, worker } = this.#init;
    worker.observe({ kind: 'call-stopped', key });
  }
}

function toOutcome(call: FailedCall): CallOutcome {
  return { kind: 'failed', call, isExpected: false };
}
