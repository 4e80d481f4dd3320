import type { Config, Lane } from '../domain/benchmark.ts';
import type { ServedModelPolicy } from '../domain/benchmark-spec.ts';
import { breakersFor } from '../domain/breaker.ts';
import {
  callsOf,
  type Journal,
  type JournalEntry,
  type JournalPlace,
  totalCost,
} from '../domain/call.ts';
import type { Attempt, CellKey, CellRecord, CellResult } from '../domain/cell.ts';
import type { QuestionRange } from '../domain/cell-task.ts';
import { groupOfRun } from '../domain/group.ts';
import { rateLimitsOf } from '../domain/lanes/lane-pace.ts';
import type { Question } from '../domain/question.ts';
import { assertNever, isStoreError, ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Purchase } from '../ports/call-pool.ts';
import type { Grant, Permit } from '../ports/governor.ts';
import type { Solver, SolverMove, StepRequest } from '../ports/solver.ts';
import { gradeAnswer } from '../scorers/grade-answer.ts';
import { countOf } from '../wording.ts';
import { AttemptCount } from './attempt-count.ts';
import { callInBatch } from './batched-call.ts';
import { CallJournal } from './call-journal.ts';
import { type CallOption, CallOptions, type PassedOverCall } from './call-options.ts';
import { breakerOf } from './cell-breakers.ts';
import {
  isOtherModel,
  leaseLost,
  stepRequestedTwice,
  tooManySteps,
  unknownSubmission,
} from './cell-errors.ts';
import { decideRetry } from './decide-retry.ts';
import { estimateTokens } from './estimate-tokens.ts';
import { type FailedCall, failed } from './failed-call.ts';
import { describeError, toFailedResult } from './failed-result.ts';
import { fingerprintOf, nextSample } from './fingerprint.ts';
import type { HeldLease } from './heartbeat.ts';
import { type CallOutcome, ModelCall } from './model-call.ts';
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
  readonly #question: QuestionRange;
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
  readonly #journal: CallJournal;
  /** The steps performed so far. */
  #performed: Journal = new Map();
  /** Calls sent in this delivery. */
  #callCount = 0;
  /** The step in progress, for the log of failed attempts and the journal. */
  #step: IdentifiedRequest = { step: 'answer', fingerprint: '', sample: 0 };
  #isReleased = false;
  /** Whether this delivery has brought something, beside calls, that has a bound of its own. */
  #hasProgressed = false;

  constructor(init: {
    readonly key: CellKey;
    readonly question: QuestionRange;
    readonly config: Config;
    readonly solver: Solver;
    readonly worker: Worker;
    readonly cell: CellRecord;
    /** No worker held the cell before, so its journal is empty. */
    readonly isFirst: boolean;
    readonly lease: HeldLease;
  }) {
    this.#key = init.key;
    this.#question = init.question;
    this.#config = init.config;
    this.#solver = init.solver;
    this.#worker = init.worker;
    this.#attempts = new AttemptCount(init.cell);
    this.#journal = new CallJournal(init);
    this.#generation = init.cell.generation;
    this.#startedAtMs = init.worker.clock.now();
    this.#isFirst = init.isFirst;
    this.#lease = init.lease;
    this.#sharedCalls = new SharedCalls(init.key, init.worker);
  }

  /** Performs the solver's steps, from the journal where they are recorded, then completes the cell. */
  async run(question: Question): Promise<Settlement> {
    const input = solverInputOf(this.#config, question, this.#worker);
    this.#performed = await this.#journal.read();
    for (;;) {
      const journal = this.#performed;
      const move = await this.#solver.next({ ...input, journal });
      if (move.kind === 'answer') return await this.#complete(question, move);
      const performed = await this.#performFirstOf(move);
      if (!('call' in performed)) return performed;
      this.#performed = new Map(journal).set(performed.step, performed);
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
    if (this.#performed.has(move.step)) throw stepRequestedTwice(this.#solver.kind, move.step);
    if (this.#performed.size >= limits.stepsPerCell) throw tooManySteps(this.#solver.kind);
    this.#step = this.#identify(move);
    this.#attempts.startCall(this.#performed);
    if (this.#attempts.ofCall(this.#performed) >= this.#worker.benchmark.maxAttempts) {
      return this.#giveUpExhausted();
    }
    if (this.#callCount > 0 && !this.#hasTimeAfter(0, move.request)) return await this.#release(0);
    const drawn = this.#sharedCalls.mayBeTaken ? await this.#drawCall(move) : undefined;
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
    return { step, fingerprint, sample: nextSample(fingerprint, this.#performed.values()) };
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
      message: `gave up after ${countOf(this.#attempts.ofCall(this.#performed), 'attempt')}: the last worker died while it held the cell`,
    });
    this.#record(error, null);
    return { passedOver: error };
  }

  async #callModel(
    move: CallOption,
  ): Promise<JournalEntry | FailedCall | Settlement | PassedOverCall> {
    const { budget, clock } = this.#worker;
    let shortSinceMs: number | undefined;
    for (;;) {
      const called = await this.#callOnce(move);
      if (called !== 'budget-short') return called;
      shortSinceMs ??= clock.monotonicMs();
      // Without the permit, which another call may need meanwhile.
      const waiting = { lane: this.#config.lane, waitedMs: clock.monotonicMs() - shortSinceMs };
      const queueMs = await budget?.waitForTurn(waiting, this.#lease.signal);
      if (queueMs !== undefined) return await this.#release(queueMs);
      if (!this.#hasTimeAfter(0, move.request)) return await this.#release(0);
    }
  }

  async #callOnce(
    move: CallOption,
  ): Promise<JournalEntry | FailedCall | Settlement | PassedOverCall | 'budget-short'> {
    const batched = this.#mayBeInBatch(move) ? await this.#callInBatch(move) : undefined;
    if (batched !== undefined)
      return 'passedOver' in batched ? batched : await this.#actOn(batched);
    const granted = await this.#askPermit(move.request);
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

  /**
   * Asks for the permit of a call.
   *
   * @throws {ThriceError} What a store throws, which says nothing about the call.
   */
  async #askPermit(request: StepRequest): Promise<Grant | ThriceError> {
    const { lane, model } = request;
    const laneInSpec = this.#laneOf(request);
    const granted = await this.#worker.governor
      .grant({
        group: groupOfRun(this.#key.run),
        lane,
        model,
        limits: rateLimitsOf(laneInSpec),
        maxConcurrency: laneInSpec.maxConcurrency ?? null,
        ...estimateTokens(request),
        canWait: (waitMs) => this.#hasTimeAfter(waitMs, request),
        signal: this.#lease.signal,
      })
      .catch(toThriceError);
    if (granted instanceof ThriceError && isStoreError(granted)) throw granted;
    return granted;
  }

  /** What nobody has worked on before is in no batch, unless it enters one. */
  #mayBeInBatch({ request }: CallOption): boolean {
    return !this.#isFirst || this.#laneOf(request).batch !== undefined;
  }

  /** Returns undefined for a call to make live. */
  async #callInBatch(move: CallOption): Promise<CallOutcome | PassedOverCall | undefined> {
    return await callInBatch({
      key: this.#key,
      question: this.#question,
      option: move,
      lane: this.#laneOf(move.request),
      place: this.#place(),
      worker: this.#worker,
      isFirst: this.#isFirst,
      findRecorded: async () => (await this.#journal.read()).get(move.step),
      onUnknown: (error) => this.#record(error, 0),
    });
  }

  /** Makes a call, unless it was recorded meanwhile. Returns a failed call as a value. */
  async #callWithPermit(
    move: CallOption,
    permit: Permit,
  ): Promise<JournalEntry | FailedCall | Settlement | 'budget-short'> {
    const { step, request } = move;
    // During a long wait for the permit, an earlier holder of the cell may have recorded the call.
    if (!(await this.#lease.confirm())) return failed(leaseLost());
    const recorded = this.#isFirst ? undefined : (await this.#journal.read()).get(step);
    if (recorded !== undefined) return recorded;
    const { signal } = this.#lease;
    if (signal.aborted) return failed(toThriceError(signal.reason));
    const drawn = this.#sharedCalls.isDoubtful ? await this.#drawCall(move) : undefined;
    if (drawn !== undefined) return drawn;
    this.#callCount += 1;
    const call = new ModelCall({
      key: this.#key,
      option: move,
      lane: this.#laneOf(request),
      servedModel: this.#servedModelPolicy(request),
      place: this.#place(),
      permit,
      lease: this.#lease,
      journal: this.#journal,
      worker: this.#worker,
      deliveredAtMs: this.#startedAtMs,
      callCount: this.#callCount,
      isFirst: this.#isFirst && this.#callCount === 1,
      onUnknown: (submission) => this.#record(unknownSubmission(submission), 0),
    });
    return await this.#actOn(await call.make());
  }

  /** What a call means for the delivery. */
  async #actOn(
    outcome: CallOutcome,
  ): Promise<JournalEntry | FailedCall | Settlement | 'budget-short'> {
    switch (outcome.kind) {
      case 'recorded':
        this.#attempts.clearSuspects();
        return outcome.entry;
      case 'failed':
        // The response has a time limit.
        if (outcome.isExpected) this.#hasProgressed = true;
        return outcome.call;
      case 'pending':
        this.#hasProgressed = true;
        return await this.#release(outcome.delayMs, { isBatched: outcome.isBatched });
      case 'budget-refused':
        return await this.#release(0, { budget: outcome.refusal });
      case 'budget-short':
        return 'budget-short';
      default:
        return assertNever(outcome);
    }
  }

  async #commitTaken(purchase: Purchase, { insteadOf }: CallOption): Promise<JournalEntry> {
    return await this.#journal.commit(takenEntry(purchase, { ...this.#place(), insteadOf }));
  }

  /** Where in the cell's journal the step in progress is recorded. */
  #place(): JournalPlace {
    return {
      ...this.#step,
      position: this.#performed.size,
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
      attempts: this.#attempts.ofCall(this.#performed),
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
      isBatched = false,
      withoutProgress,
    }: Pick<Release, 'breakerKey' | 'budget' | 'withoutProgress'> & {
      readonly isBatched?: boolean | undefined;
    } = {},
  ): Promise<Settlement> {
    const { ledger, owner } = this.#worker;
    const { total, givenUp } = this.#attempts;
    await ledger.releaseCell(this.#key, owner, this.#attemptLog, total, givenUp);
    this.#isReleased = true;
    const hasProgressed = this.#hasProgressed || this.#journal.hasRecorded;
    return {
      kind: 'release',
      delayMs,
      ...(breakerKey !== undefined && { breakerKey }),
      ...(budget !== undefined && { budget }),
      ...(isBatched && { isBatched }),
      ...(withoutProgress !== undefined && !hasProgressed && { withoutProgress }),
    };
  }

  async #fail(error: ThriceError): Promise<Settlement> {
    const startedAt = this.#worker.clock.toIso(this.#startedAtMs);
    const failedAttempts = this.#attempts.total;
    return await this.#store(
      toFailedResult(error, { journal: this.#performed, failedAttempts, startedAt }),
    );
  }

  async #complete(question: Question, move: AnswerMove): Promise<Settlement> {
    const calls = callsOf(this.#performed);
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
