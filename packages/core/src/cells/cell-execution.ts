import type { Config, Lane } from '../domain/benchmark.ts';
import type { ServedModelPolicy } from '../domain/benchmark-spec.ts';
import { breakersFor } from '../domain/breaker.ts';
import {
  type Call,
  callsOf,
  type Journal,
  type JournalEntry,
  totalCost,
  UNKNOWN_USAGE,
} from '../domain/call.ts';
import type { Attempt, CellKey, CellRecord, CellResult } from '../domain/cell.ts';
import { groupOfRun } from '../domain/group.ts';
import { rateLimitsOf } from '../domain/lane-pace.ts';
import type { Question } from '../domain/question.ts';
import { assertNever, ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Purchase } from '../ports/call-pool.ts';
import type { Permit } from '../ports/governor.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../ports/model-client.ts';
import type { Solver, SolverMove, StepRequest } from '../ports/solver.ts';
import { gradeAnswer } from '../scorers/grade-answer.ts';
import { AttemptCount } from './attempt-count.ts';
import { BackgroundCall, type BackgroundProgress } from './background-call.ts';
import { CallJournal } from './call-journal.ts';
import { type CallOption, CallOptions, type PassedOverCall } from './call-options.ts';
import { breakerOf, openBreakerFor } from './cell-breakers.ts';
import {
  asLastingLimit,
  isOtherModel,
  leaseLost,
  noBackgroundMode,
  stepRequestedTwice,
  tooManySteps,
  unknownSubmission,
  withPayment,
  wrongServedModel,
} from './cell-errors.ts';
import { decideRetry } from './decide-retry.ts';
import { describeCall, type SentRequest } from './describe-call.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { asNoAttempt, endOf, type FailedCall, failed } from './failed-call.ts';
import { describeError, toFailedResult } from './failed-result.ts';
import { fingerprintOf, nextSample } from './fingerprint.ts';
import type { HeldLease } from './heartbeat.ts';
import { isCertainlyUnbilled } from './is-certainly-unbilled.ts';
import { isServerResponse } from './lane-health.ts';
import { type IdentifiedRequest, SharedCalls, takenEntry } from './shared-calls.ts';
import { solverInputOf, toRecordedAnswer } from './solver-input.ts';
import type { Settlement, Worker } from './worker.ts';

type Release = Extract<Settlement, { readonly kind: 'release' }>;
type CallMove = Extract<SolverMove, { readonly kind: 'call' }>;
type AnswerMove = Extract<SolverMove, { readonly kind: 'answer' }>;

/**
 * The execution of one claimed cell.
 *
 * The solver decides on the steps. The execution owns the rest: lease, permits, journal, attempts per step, the
 * number of steps and the abort.
 */
export class CellExecution {
  readonly #key: CellKey;
  readonly #config: Config;
  readonly #solver: Solver;
  readonly #worker: Worker;
  readonly #startedAtMs: number;
  readonly #isFirst: boolean;
  readonly #generation: number;
  readonly #lease: HeldLease;
  readonly #sharedCalls: SharedCalls;
  readonly #attempts: AttemptCount;
  readonly #attemptLog: Attempt[] = [];
  readonly #calls: CallJournal;
  /** The steps performed so far. */
  #journal: Journal = new Map();
  /** Calls sent in this delivery. */
  #callCount = 0;
  /** The step in progress, for the log of failed attempts and the journal. */
  #step: IdentifiedRequest = { step: 'answer', fingerprint: '', sample: 0 };
  #isReleased = false;
  /** Whether this delivery has brought something, beside calls, that has a bound of its own. */
  #hasProgressed = false;

  constructor(init: {
    readonly key: CellKey;
    readonly config: Config;
    readonly solver: Solver;
    readonly worker: Worker;
    readonly cell: CellRecord;
    /** No worker held the cell before, so its journal is empty. */
    readonly isFirst: boolean;
    readonly lease: HeldLease;
  }) {
    this.#key = init.key;
    this.#config = init.config;
    this.#solver = init.solver;
    this.#worker = init.worker;
    this.#attempts = new AttemptCount(init.cell);
    this.#calls = new CallJournal(init);
    this.#generation = init.cell.generation;
    this.#startedAtMs = init.worker.clock.now();
    this.#isFirst = init.isFirst;
    this.#lease = init.lease;
    this.#sharedCalls = new SharedCalls(init.key, init.worker);
  }

  /** Performs the solver's steps, from the journal where they are recorded, then completes the cell. */
  async run(question: Question): Promise<Settlement> {
    const input = solverInputOf(this.#config, question, this.#worker);
    this.#journal = await this.#calls.read();
    for (;;) {
      const journal = this.#journal;
      const move = await this.#solver.next({ ...input, journal });
      if (move.kind === 'answer') return await this.#complete(question, move);
      const performed = await this.#performFirstOf(move);
      if (!('call' in performed)) return performed;
      this.#journal = new Map([...journal, [performed.step, performed]]);
    }
  }

  /**
   * Ends an execution that threw. A bug counts as an attempt. A store failure does not: the cell is released,
   * because a lease that expires would count as one.
   *
   * @throws {ThriceError} The error, unless it was a bug on the last attempt.
   */
  async abort(error: ThriceError): Promise<Settlement> {
    if (this.#isReleased) throw error;
    const settlement =
      error.class === 'internal' ? await this.#handle(failed(error), this.#config) : undefined;
    if (settlement !== undefined && !('passedOver' in settlement)) return settlement;
    await this.#release(0).catch(() => undefined);
    throw error;
  }

  /** Performs the first of a step's calls that can be had. */
  async #performFirstOf(move: CallMove): Promise<JournalEntry | Settlement> {
    const options = new CallOptions(move, this.#attempts.givenUp);
    for (const call of options.untried(() => this.#worker.openBreakers)) {
      const performed = await this.#performStep(call);
      if (!('passedOver' in performed)) return performed;
      options.passOver(call, performed.passedOver, this.#attempts.total);
      this.#attempts.passOver();
    }
    const { ending } = options;
    if (!('breakerKey' in ending)) return await this.#fail(ending);
    return await this.#release(limits.deferredDelayMs, { breakerKey: ending.breakerKey });
  }

  /** Attempts one step until it is recorded, or the cell has to go back to the queue or has failed. */
  async #performStep(move: CallOption): Promise<JournalEntry | Settlement | PassedOverCall> {
    if (this.#journal.has(move.step)) throw stepRequestedTwice(this.#solver.kind, move.step);
    if (this.#journal.size >= limits.stepsPerCell) throw tooManySteps(this.#solver.kind);
    this.#step = this.#identify(move);
    this.#attempts.startCall(this.#journal);
    if (this.#attempts.ofCall(this.#journal) >= this.#worker.benchmark.maxAttempts) {
      return this.#giveUpExhausted();
    }
    if (this.#callCount > 0 && !this.#hasTimeAfter(0, move.request)) return await this.#release(0);
    const drawn = await this.#drawCall(move);
    if (drawn !== undefined) return drawn;
    for (;;) {
      const called = await this.#callModel(move);
      if (!('error' in called)) return called;
      const settlement = await this.#handle(called, move.request);
      if (settlement !== undefined) return settlement;
    }
  }

  #identify({ step, request }: CallOption): IdentifiedRequest {
    const { createDigest } = this.#worker;
    const fingerprint = fingerprintOf(request, this.#laneOf(request), createDigest);
    return { step, fingerprint, sample: nextSample(fingerprint, this.#journal.values()) };
  }

  /** Takes the call of a step from another cell, or waits for it. Returns undefined for a call to buy. */
  async #drawCall(move: CallOption): Promise<JournalEntry | Settlement | undefined> {
    const isUsable = ({ call }: JournalEntry) =>
      this.#servedModelPolicy(move.request) !== 'pin' || !isOtherModel(call, move.request.model);
    for (;;) {
      const drawn = await this.#sharedCalls.draw(this.#step, isUsable);
      if (drawn.kind === 'buy') return undefined;
      if (drawn.kind === 'taken') return await this.#commitTaken(drawn, move);
      if (
        drawn.delayMs > limits.inDeliveryWaitMs ||
        !this.#hasTimeAfter(drawn.delayMs, move.request)
      )
        return await this.#release(drawn.delayMs);
      await this.#worker.clock.sleep(drawn.delayMs, this.#lease.signal);
      if (this.#lease.signal.aborted) return await this.#release(0);
    }
  }

  /** Gives up a call that has no attempts left. Only a worker that died leaves a cell in this state. */
  #giveUpExhausted(): PassedOverCall {
    const error = new ThriceError({
      code: 'worker-died',
      message: `gave up after ${this.#attempts.ofCall(this.#journal)} attempts: the last worker died while it held the cell`,
    });
    this.#record(error, null);
    return { passedOver: error };
  }

  async #callModel(
    move: CallOption,
  ): Promise<JournalEntry | FailedCall | Settlement | PassedOverCall> {
    for (;;) {
      const called = await this.#callOnce(move);
      if (called !== 'budget-short') return called;
      // Without the permit, which another call may need meanwhile.
      const { budget } = this.#worker;
      const isTurn = await budget?.waitForTurn(this.#config.lane, this.#lease.signal);
      if (isTurn === false) return await this.#release(limits.deferredDelayMs);
    }
  }

  async #callOnce(
    move: CallOption,
  ): Promise<JournalEntry | FailedCall | Settlement | PassedOverCall | 'budget-short'> {
    const { lane, model } = move.request;
    const granted = await this.#worker.governor
      .grant({
        group: groupOfRun(this.#key.run),
        lane,
        model,
        limits: rateLimitsOf(this.#laneOf(move.request)),
        ...estimateTokens(move.request),
        canWait: (waitMs) => this.#hasTimeAfter(waitMs, move.request),
        signal: this.#lease.signal,
      })
      .catch(toThriceError);
    if (granted instanceof ThriceError) return { error: granted, delayMs: 0 };
    if (granted.kind === 'not-before') {
      const waitMs = Math.max(0, granted.atMs - this.#worker.clock.now());
      return await this.#release(waitMs, { withoutProgress: 'model-rate-limited' });
    }
    try {
      // The next delivery finds that the group was cancelled or deleted, and does what follows from it.
      if ((await this.#worker.isGroupActive?.()) === false) return await this.#release(0);
      const [breaker] = breakersFor(move.request, this.#worker.openBreakers);
      if (breaker !== undefined) {
        if (breaker.error.class === 'transient') this.#attempts.takeBackSuspects();
        return { passedOver: breaker };
      }
      return await this.#callWithPermit(move, granted.permit);
    } finally {
      await granted.permit.settle({ kind: 'failed' });
    }
  }

  /** Sends one call and records it before anything acts on the answer. Returns a failed call as a value. */
  async #callWithPermit(
    move: CallOption,
    permit: Permit,
  ): Promise<JournalEntry | FailedCall | Settlement | 'budget-short'> {
    const { step, request } = move;
    // During a long wait for the permit, an earlier holder of the cell may have recorded the call.
    if (!(await this.#lease.confirm())) return failed(leaseLost());
    const recorded = (await this.#calls.read()).get(step);
    if (recorded !== undefined) return recorded;
    const { signal } = this.#lease;
    if (signal.aborted) return failed(toThriceError(signal.reason));
    const drawn = this.#sharedCalls.isDoubtful ? await this.#drawCall(move) : undefined;
    if (drawn !== undefined) return drawn;
    this.#callCount += 1;
    const sent = this.#describeRequest(permit.waitMs);
    if (request.isBackground) return await this.#callInBackground(move, permit, sent);
    const kept = await this.#reserve(move, sent.callId);
    if (kept !== 'reserved') return kept;
    const response = await this.#clientOf(request)
      .send(this.#toModelRequest(move), signal)
      .catch(toThriceError);
    const stop = response instanceof ThriceError ? response : response.fault;
    if (stop?.code === 'interrupted') this.#reportStop();
    return response instanceof ThriceError
      ? await this.#endUnpaid(move, response, { permit, sent })
      : await this.#endPaid(move, response, { permit, sent });
  }

  /** Submits a call, or asks how far it is. While the vendor works on it, the cell waits in the queue. */
  async #callInBackground(
    move: CallOption,
    permit: Permit,
    sent: SentRequest,
  ): Promise<JournalEntry | FailedCall | Settlement | 'budget-short'> {
    const { step, request } = move;
    const { ledger, random } = this.#worker;
    const call = this.#openBackgroundCall(move);
    const isFirst = this.#isFirst && this.#callCount === 1;
    const existing = isFirst ? undefined : (await ledger.readSubmissions(this.#key)).get(step);
    // Told to the vendor: without the name of the worker, which has that of its host.
    const callId = `${sent.startedAtMs} ${this.#callCount} ${random().toString(36).slice(2)}`;
    if (existing?.state !== 'accepted') {
      const kept = await this.#reserve(move, callId);
      if (kept !== 'reserved') return kept;
    }
    const progress = await call.advance(existing, { callId, waitMs: sent.waitMs });
    switch (progress.kind) {
      case 'pending': {
        this.#worker.laneHealth.noteResponse(request.lane, sent.startedMs);
        this.#reportResponse(request);
        const { rateLimits } = progress;
        await permit.settle({ kind: 'answered', usage: UNKNOWN_USAGE, rateLimits });
        this.#hasProgressed = true;
        return await this.#release(progress.delayMs);
      }
      case 'failed': {
        const { error, isExpected } = progress;
        // The response has a time limit.
        if (isExpected) this.#hasProgressed = true;
        // Stopping to ask loses nothing.
        if (error.code === 'interrupted' && existing?.state !== 'accepted') this.#reportStop();
        const unpaid = isExpected ? sent : { ...sent, callId };
        const ended = await this.#endUnpaid(move, error, { permit, sent: unpaid });
        return isExpected ? asNoAttempt(ended) : ended;
      }
      case 'ended': {
        const ended = await this.#endInBackground(move, progress, { permit, sent });
        if ('error' in ended) await call.end(progress.submission, ended.error.code);
        return ended;
      }
      default:
        return assertNever(progress);
    }
  }

  /** Records a response that has ended, as a call that took since its submission. */
  async #endInBackground(
    move: CallOption,
    { submission, response }: Extract<BackgroundProgress, { readonly kind: 'ended' }>,
    { permit, sent }: { readonly permit: Permit; readonly sent: SentRequest },
  ): Promise<JournalEntry | FailedCall> {
    if (response.fault?.code === 'interrupted') this.#reportStop();
    const { callId, submittedAtMs: startedAtMs, waitMs, state } = submission;
    const tookMs = Math.max(0, this.#worker.clock.now() - startedAtMs);
    const latencyMs = state === 'accepted' ? tookMs : response.latencyMs;
    return await this.#endPaid(
      move,
      { ...response, latencyMs },
      { permit, sent: { callId, startedAtMs, waitMs, startedMs: sent.startedMs } },
    );
  }

  #openBackgroundCall(move: CallOption): BackgroundCall {
    const { ledger, clock } = this.#worker;
    const { background: client } = this.#clientOf(move.request);
    if (client === undefined) throw noBackgroundMode(move.request);
    return new BackgroundCall({
      key: this.#key,
      request: this.#toModelRequest(move),
      client,
      signal: this.#lease.signal,
      ledger,
      clock,
      persist: (write) => this.#calls.persist(write),
      onUnknown: (submission) => this.#record(unknownSubmission(submission), 0),
    });
  }

  #describeRequest(waitMs: number): SentRequest {
    const { owner, clock } = this.#worker;
    return {
      callId: `${owner} ${this.#startedAtMs} ${this.#callCount}`,
      startedAtMs: clock.now(),
      startedMs: clock.monotonicMs(),
      waitMs,
    };
  }

  #clientOf(request: StepRequest): ModelClient {
    return this.#worker.clientFor(this.#laneOf(request));
  }

  #toModelRequest({ step, request }: CallOption): ModelRequest {
    const { isBackground: _, ...parameters } = request;
    return { ...parameters, lane: this.#laneOf(request), cell: this.#key, step };
  }

  #reportStop(): void {
    this.#worker.observe({ kind: 'call-stopped', key: this.#key });
  }

  /** Reserves the worst case of a call that is about to be sent. */
  async #reserve(
    { step, request }: CallOption,
    callId: string,
  ): Promise<'reserved' | 'budget-short' | FailedCall | Settlement> {
    const { budget } = this.#worker;
    if (budget === undefined) return 'reserved';
    const reserving = await budget
      .reserve(this.#key, { step, callId, request })
      .catch(toThriceError);
    if (reserving instanceof ThriceError) return failed(reserving);
    if (reserving.kind === 'refused') return await this.#release(0, { budget: reserving });
    return reserving.kind === 'short' ? 'budget-short' : 'reserved';
  }

  /** Replaces the worst case of a call by its cost; null where the vendor may have billed it, but nobody knows. */
  async #settleBudget(step: string, callId: string, costUsd: number | null): Promise<void> {
    await this.#worker.budget?.settle({ cell: this.#key, step, callId }, costUsd);
  }

  /** Ends a request that brought no response that is paid for. */
  async #endUnpaid(
    { step, request }: CallOption,
    error: ThriceError,
    { permit, sent }: { readonly permit: Permit; readonly sent: SentRequest },
  ): Promise<FailedCall> {
    await this.#settleBudget(step, sent.callId, isCertainlyUnbilled(error) ? 0 : null);
    const diagnosis = this.#worker.laneHealth.noteFailure(request.lane, error, {
      cell: `${this.#key.run} ${this.#key.config} ${this.#key.id}`,
      startedAtMs: sent.startedMs,
    });
    // Before the permit returns: the next cell that gets it must not make the same call.
    await openBreakerFor(error, { target: request, diagnosis }, this.#worker);
    if (isServerResponse(error)) this.#reportResponse(request);
    return { ...(await this.#settleFailed(request, error, permit)), diagnosis };
  }

  /** Records a response, which is paid for, before anything acts on it. */
  async #endPaid(
    move: CallOption,
    response: ModelResponse,
    { permit, sent }: { readonly permit: Permit; readonly sent: SentRequest },
  ): Promise<JournalEntry | FailedCall> {
    const { request } = move;
    const fault = this.#findFault(response, request);
    const facts = describeCall(move, response, sent, this.#worker);
    const call: Call = { ...facts, discarded: fault?.code ?? null };
    // Recorded first, whatever is wrong with it: the vendor has been paid.
    const entry = await this.#commit(call, sent.callId, response);
    await this.#settleBudget(call.step, sent.callId, call.costUsd);
    if (fault === undefined) {
      this.#worker.laneHealth.noteResponse(request.lane, sent.startedMs);
      this.#attempts.clearSuspects();
      this.#reportResponse(request);
      this.#reportOtherModel(response, request);
      const { usage, rateLimits } = response;
      await permit.settle({ kind: 'answered', usage, rateLimits });
      return entry;
    }
    const error = withPayment(fault, call);
    await openBreakerFor(error, { target: request }, this.#worker);
    if (isServerResponse(error)) {
      this.#worker.laneHealth.noteResponse(request.lane, sent.startedMs);
      this.#reportResponse(request);
    }
    return await this.#settleFailed(request, error, permit);
  }

  /** Returns the permit of a failed call, and blocks a lane that does nothing but refuse. */
  async #settleFailed(
    request: StepRequest,
    error: ThriceError,
    permit: Permit,
  ): Promise<FailedCall> {
    const { delayMs, hasOnlyRefused } = await permit.settle(endOf(error));
    if (!hasOnlyRefused) return { error, delayMs };
    const lasting = asLastingLimit(error);
    await openBreakerFor(lasting, { target: request }, this.#worker);
    return { error: lasting, delayMs: 0 };
  }

  #reportResponse({ lane, model }: StepRequest): void {
    this.#worker.observe({ kind: 'server-responded', key: this.#key, lane, model });
  }

  async #commitTaken(purchase: Purchase, { insteadOf }: CallOption): Promise<JournalEntry> {
    return await this.#calls.commit(takenEntry(purchase, { ...this.#place(), insteadOf }));
  }

  async #commit(call: Call, callId: string, { output, raw }: ModelResponse): Promise<JournalEntry> {
    const facts = { schemaVersion: 1, kind: 'model-call', callId } as const;
    return await this.#calls.commit({ ...facts, ...this.#place(), call, output, raw });
  }

  /** Where in the cell's journal the step in progress is recorded. */
  #place(): Omit<JournalEntry, 'schemaVersion' | 'kind' | 'callId' | 'call' | 'output' | 'raw'> {
    return {
      ...this.#step,
      position: this.#journal.size,
      generation: this.#generation,
      failedAttempts: this.#attempts.total,
    };
  }

  #laneOf({ lane: name }: StepRequest): Lane {
    const lane = this.#worker.benchmark.lanes.get(name);
    if (lane !== undefined) return lane;
    throw new ThriceError({
      code: 'invariant-violated',
      message: `solver "${this.#solver.kind}" calls lane "${name}", which the benchmark does not have`,
    });
  }

  /** Returns why a response does not answer its step; undefined if it does. */
  #findFault(response: ModelResponse, request: StepRequest): ThriceError | undefined {
    if (response.fault !== undefined) return response.fault;
    if (this.#servedModelPolicy(request) === 'pin' && isOtherModel(response, request.model))
      return wrongServedModel(response, request);
    if (response.finishReason !== 'content-filter') return undefined;
    return new ThriceError({ code: 'content-filtered', message: 'the vendor filtered the answer' });
  }

  #reportOtherModel(response: ModelResponse, request: StepRequest): void {
    const { lane, model } = request;
    if (this.#servedModelPolicy(request) !== 'warn' || !isOtherModel(response, model)) return;
    const servedModel = response.servedModel ?? '';
    this.#worker.observe({ kind: 'other-model-served', key: this.#key, lane, model, servedModel });
  }

  #servedModelPolicy(request: StepRequest): ServedModelPolicy {
    return this.#config.servedModel ?? this.#laneOf(request).servedModel;
  }

  #now(): string {
    return this.#worker.clock.toIso(this.#worker.clock.now());
  }

  /** Acts on a failed call. Returns undefined to attempt the step again. */
  async #handle(
    { error, delayMs, diagnosis }: FailedCall,
    target: Pick<StepRequest, 'lane' | 'model' | 'isBackground'>,
  ): Promise<Settlement | PassedOverCall | undefined> {
    if (this.#attempts.add(error, diagnosis)) this.#hasProgressed = true;
    const next = decideRetry(error, {
      attempts: this.#attempts.ofCall(this.#journal),
      maxAttempts: this.#worker.benchmark.maxAttempts,
      isLaneOut: diagnosis?.outage !== undefined,
      random: this.#worker.random,
    });
    switch (next.kind) {
      case 'retry':
        this.#record(error, next.waitMs);
        if (!this.#hasTimeAfter(next.waitMs, target)) {
          return await this.#release(next.waitMs, { withoutProgress: error.code });
        }
        await this.#worker.clock.sleep(next.waitMs, this.#lease.signal);
        return undefined;
      case 'release':
        this.#record(error, next.delayMs);
        return await this.#release(next.delayMs, { withoutProgress: error.code });
      case 'slow-down':
        this.#record(error, delayMs);
        return await this.#waitForLane(error, delayMs, target);
      case 'blocked':
        this.#record(error, limits.deferredDelayMs);
        return { passedOver: breakerOf(error, target, this.#worker) };
      case 'fail':
        this.#record(error, null);
        // A bug would show with any model.
        return error.class === 'internal' ? await this.#fail(error) : { passedOver: error };
      case 'abandon':
        // Whoever has the cell now makes its progress.
        if (error.code === 'lease-lost') return await this.#release(0);
        return await this.#release(0, { withoutProgress: error.code });
      case 'raise':
        this.#record(error, 0);
        await this.#release(0);
        throw error;
    }
  }

  /** Waits after a refusal while it holds the cell, where that costs less than to send its task back. */
  async #waitForLane(
    { code: withoutProgress }: ThriceError,
    delayMs: number,
    target: Pick<StepRequest, 'lane' | 'isBackground'>,
  ): Promise<Settlement | undefined> {
    const isShort = delayMs < (this.#worker.refusalWaitMs ?? 0);
    if (!isShort || !this.#hasTimeAfter(delayMs, target))
      return await this.#release(delayMs, { withoutProgress });
    await this.#worker.clock.sleep(delayMs, this.#lease.signal);
    return undefined;
  }

  /** Whether a call after this wait would end before the worker has to. */
  #hasTimeAfter(
    waitMs: number,
    { lane, isBackground }: Pick<StepRequest, 'lane' | 'isBackground'>,
  ): boolean {
    const timeoutMs = this.#worker.benchmark.lanes.get(lane)?.timeoutMs ?? 0;
    const callMs = isBackground ? limits.backgroundRequestMs : timeoutMs;
    return this.#worker.hasTimeFor?.(waitMs + callMs) ?? true;
  }

  #record(error: ThriceError, waitMs: number | null): void {
    this.#attemptLog.push({
      at: this.#now(),
      step: this.#step.step,
      error: describeError(error),
      latencyMs: error.details.latencyMs ?? null,
      waitMs,
      costUsd: error.details.costUsd ?? null,
    });
    this.#worker.observe({ kind: 'call-failed', key: this.#key, error, waitMs });
  }

  /** @param why.withoutProgress - Left out of the settlement if the cell has made progress nevertheless. */
  async #release(
    delayMs: number,
    {
      breakerKey,
      budget,
      withoutProgress,
    }: Pick<Release, 'breakerKey' | 'budget' | 'withoutProgress'> = {},
  ): Promise<Settlement> {
    const { ledger, owner } = this.#worker;
    const { total, givenUp } = this.#attempts;
    await ledger.releaseCell(this.#key, owner, this.#attemptLog, total, givenUp);
    this.#isReleased = true;
    const hasProgressed = this.#hasProgressed || this.#calls.hasRecorded;
    return {
      kind: 'release',
      delayMs,
      ...(breakerKey !== undefined && { breakerKey }),
      ...(budget !== undefined && { budget }),
      ...(withoutProgress !== undefined && !hasProgressed && { withoutProgress }),
    };
  }

  async #fail(error: ThriceError): Promise<Settlement> {
    const startedAt = this.#worker.clock.toIso(this.#startedAtMs);
    const failedAttempts = this.#attempts.total;
    return await this.#store(
      toFailedResult(error, { journal: this.#journal, failedAttempts, startedAt }),
    );
  }

  async #complete(question: Question, move: AnswerMove): Promise<Settlement> {
    const calls = callsOf(this.#journal);
    const answer = toRecordedAnswer(move);
    return await this.#store({
      ...answer,
      ...(await gradeAnswer(this.#config.scorer, question, answer, this.#worker)),
      error: null,
      costUsd: totalCost(calls),
      latencyMs: calls.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
      startedAt: calls[0]?.startedAt ?? this.#worker.clock.toIso(this.#startedAtMs),
      calls,
      attempts: this.#attempts.total + calls.length,
    });
  }

  async #store(result: Omit<CellResult, 'grading' | 'finishedAt'>): Promise<Settlement> {
    const { ledger, owner, observe } = this.#worker;
    const { grading } = this.#config;
    const complete: CellResult = { ...result, grading, finishedAt: this.#now() };
    const completion = await ledger.completeCell(this.#key, owner, complete, this.#attemptLog);
    // Another worker has the cell and may die: only the task of a done cell is acknowledged.
    if (completion.kind === 'refused') return { kind: 'release', delayMs: limits.heartbeatMs };
    const { tally } = completion;
    observe({ kind: 'cell-completed', key: this.#key, result: complete, tally });
    return { kind: 'acknowledge' };
  }
}
