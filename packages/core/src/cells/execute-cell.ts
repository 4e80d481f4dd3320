import type { Benchmark, Config, Lane } from '../domain/benchmark.ts';
import type { OpenBreaker } from '../domain/breaker.ts';
import type { Call, JournalEntry } from '../domain/call.ts';
import type { Attempt, CellError, CellKey, CellResult } from '../domain/cell.ts';
import type { Question } from '../domain/question.ts';
import { ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Governor } from '../ports/governor.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../ports/model-client.ts';
import type { Random } from '../ports/random.ts';
import type { Delivery } from '../ports/task-queue.ts';
import { priceUsage } from '../pricing/price-usage.ts';
import { gradeAnswer } from '../scorers/grade-answer.ts';
import { renderPrompt } from '../spec/render-prompt.ts';
import { decideNextStep } from './decide-next-step.ts';
import type { Heartbeat, HeldLease } from './heartbeat.ts';
import { isServedModel } from './is-served-model.ts';
import { readQuestion } from './read-question.ts';
import type { WorkerObserver } from './worker-events.ts';

/** Everything a worker brings to a cell. */
export interface Worker {
  /** Unique to this worker's life: the name its leases carry. */
  readonly owner: string;
  readonly benchmark: Benchmark;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly models: ModelClient;
  readonly governor: Governor;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: WorkerObserver;
  /** Whether a call that may take so long can still be made. @default always */
  readonly hasTimeFor?: (durationMs: number) => boolean;
  /** The open breaker that stops a lane or `lane/model` for now, from the worker's recent knowledge. */
  readonly openBreakerOf: (breakerKey: string) => OpenBreaker | undefined;
}

/** What the holder of the delivery does with it next. */
export type Settlement =
  /** The cell is done, by us or by somebody before us. */
  | { readonly kind: 'acknowledge' }
  /** Not now: back to the queue. */
  | { readonly kind: 'release'; readonly delayMs: number };

/** The step of a direct solver's only call. */
const ANSWER_STEP = 'answer';

/**
 * Works on one cell: claim, call, commit, score, complete.
 *
 * A crash between any two lines is harmless: before the claim nothing happened, after it the lease
 * runs out, after the commit the next worker finds the call in the journal and pays nothing.
 *
 * @throws {ThriceError} Class `internal`: our own bug, nothing is acknowledged.
 */
export async function executeCell(delivery: Delivery, worker: Worker): Promise<Settlement> {
  const { run, id, config: configName, generation } = delivery.task;
  const config = worker.benchmark.configs.find(({ name }) => name === configName);
  const lane = config === undefined ? undefined : worker.benchmark.lanes.get(config.lane);
  if (config === undefined || lane === undefined) {
    throw new ThriceError({
      code: 'invariant-violated',
      message: `task of ${run} names config "${configName}", which its group does not have`,
    });
  }
  if (isBlocked(worker, config)) return { kind: 'release', delayMs: limits.deferredDelayMs };
  const key: CellKey = { run, id, config: configName };
  const claim = await worker.ledger.claimCell(key, generation, worker.owner);
  if (claim.kind === 'done') return { kind: 'acknowledge' };
  if (claim.kind === 'held') return { kind: 'release', delayMs: limits.heartbeatMs };

  using lease = worker.heartbeat.hold(key, delivery);
  const cell = new CellExecution({
    key,
    config,
    lane,
    worker,
    attempts: claim.cell.attempts,
    startedAtMs: worker.clock.now(),
    isFirst: claim.isFirst,
    lease,
  });
  try {
    return await cell.answer(await readQuestion(worker.blobs, delivery.task.question));
  } catch (thrown) {
    return await cell.abort(toThriceError(thrown));
  }
}

function isBlocked(worker: Worker, config: Config): boolean {
  return (
    (worker.openBreakerOf(config.lane) ?? worker.openBreakerOf(modelRefOf(config))) !== undefined
  );
}

function modelRefOf(config: Config): string {
  return `${config.lane}/${config.model}`;
}

/** One claimed cell on its way to a result. */
class CellExecution {
  readonly #key: CellKey;
  readonly #config: Config;
  readonly #lane: Lane;
  readonly #worker: Worker;
  readonly #startedAtMs: number;
  readonly #isFirst: boolean;
  readonly #lease: HeldLease;
  readonly #attemptLog: Attempt[] = [];
  #attempts: number;
  #isReleased = false;

  constructor(init: {
    readonly key: CellKey;
    readonly config: Config;
    readonly lane: Lane;
    readonly worker: Worker;
    readonly attempts: number;
    readonly startedAtMs: number;
    /** Nobody held the cell before: its journal is empty. */
    readonly isFirst: boolean;
    readonly lease: HeldLease;
  }) {
    this.#key = init.key;
    this.#config = init.config;
    this.#lane = init.lane;
    this.#worker = init.worker;
    this.#attempts = init.attempts;
    this.#startedAtMs = init.startedAtMs;
    this.#isFirst = init.isFirst;
    this.#lease = init.lease;
  }

  /** Answers with one call (or the journal's), then completes the cell. */
  async answer(question: Question): Promise<Settlement> {
    const recorded = await this.#recall();
    if (recorded !== undefined) return await this.#complete(question, recorded);
    if (this.#attempts >= this.#worker.benchmark.maxAttempts) return await this.#failExhausted();
    const request = this.#request(question);
    for (;;) {
      const asked = await this.#ask(request);
      if (!(asked instanceof ThriceError)) return await this.#complete(question, asked);
      const settlement = await this.#handle(asked);
      if (settlement !== undefined) return settlement;
    }
  }

  /**
   * Ends work that threw: a bug of ours is an attempt, a store that does not serve is none, which a lease left
   * to end would be.
   *
   * @throws {ThriceError} The error, unless it was a bug that used the attempts up.
   */
  async abort(error: ThriceError): Promise<Settlement> {
    if (this.#isReleased) throw error;
    const settlement = error.class === 'internal' ? await this.#handle(error) : undefined;
    if (settlement !== undefined) return settlement;
    await this.#release(0).catch(() => undefined);
    throw error;
  }

  /** Only workers that died leave a cell behind with its attempts used up: the others fail it. */
  async #failExhausted(): Promise<Settlement> {
    const error = new ThriceError({
      code: 'worker-died',
      message: `given up after ${this.#attempts} attempts: the last worker died over the cell, or left it without a word`,
    });
    this.#record(error, null);
    return await this.#fail(error);
  }

  /** The call as somebody made it before us. */
  async #recall(): Promise<JournalEntry | undefined> {
    if (this.#isFirst) return undefined;
    const recorded = (await this.#worker.ledger.readJournal(this.#key)).get(ANSWER_STEP);
    return recorded && { ...recorded, call: { ...recorded.call, replayed: true } };
  }

  /** One call, committed before anybody reads it; a failure of the model is a value. */
  async #ask(request: ModelRequest): Promise<JournalEntry | ThriceError> {
    const granted = await this.#worker.governor
      .grant(this.#lane.name, this.#lease.signal)
      .catch(toThriceError);
    if (granted instanceof ThriceError) return granted;
    using slot = granted;
    if (isBlocked(this.#worker, this.#config)) return breakerOpenedMeanwhile();
    // The wait may have been long: whoever held the cell before may have answered it after all.
    if (!(await this.#lease.confirm())) return leaseLost();
    const recorded = await this.#recall();
    if (recorded !== undefined) return recorded;
    const startedAtMs = this.#worker.clock.now();
    const response = await this.#worker.models
      .send(request, this.#lease.signal)
      .catch(toThriceError);
    if (response instanceof ThriceError) return response;
    this.#worker.governor.answered(this.#lane.name);
    const call = this.#describeCall(response, startedAtMs, slot.waitMs);
    if (!isServedModel(request.model, response.servedModel)) return wrongServedModel(call);
    if (call.finishReason === 'content-filter') return contentFiltered(call);
    return await this.#worker.ledger.commitCall(this.#key, {
      schemaVersion: 1,
      call,
      output: response.output,
      raw: response.raw,
    });
  }

  #request(question: Question): ModelRequest {
    return {
      lane: this.#lane,
      model: this.#config.model,
      messages: renderPrompt(this.#config, question),
      temperature: this.#config.temperature,
      maxTokens: this.#config.maxTokens,
      isStreamed: this.#config.isStreamed,
      extraBody: this.#config.extraBody,
      cell: this.#key,
      step: ANSWER_STEP,
    };
  }

  #describeCall(response: ModelResponse, startedAtMs: number, waitMs: number): Call {
    const price = this.#worker.benchmark.prices.get(modelRefOf(this.#config));
    return {
      step: ANSWER_STEP,
      lane: this.#lane.name,
      endpoint: response.endpoint,
      model: this.#config.model,
      servedModel: response.servedModel,
      startedAt: this.#worker.clock.toIso(startedAtMs),
      latencyMs: response.latencyMs,
      ttftMs: response.ttftMs,
      waitMs,
      ...response.usage,
      costUsd: priceUsage(price, response.usage),
      finishReason: response.finishReason,
      rawFinishReason: response.rawFinishReason,
      replayed: false,
    };
  }

  #now(): string {
    return this.#worker.clock.toIso(this.#worker.clock.now());
  }

  /** Decides what a failed call means; undefined to try again. */
  async #handle(error: ThriceError): Promise<Settlement | undefined> {
    if (error.class === 'transient' || error.class === 'internal') this.#attempts += 1;
    const next = decideNextStep(error, {
      attempts: this.#attempts,
      maxAttempts: this.#worker.benchmark.maxAttempts,
      random: this.#worker.random,
    });
    switch (next.kind) {
      case 'retry':
        this.#record(error, next.waitMs);
        if (!this.#hasTimeAfter(next.waitMs)) return await this.#release(next.waitMs);
        await this.#worker.clock.sleep(next.waitMs, this.#lease.signal);
        return undefined;
      case 'release':
        this.#record(error, next.delayMs);
        return await this.#release(next.delayMs);
      case 'slow-down': {
        const delayMs = this.#worker.governor.slowDown(this.#lane.name, next.retryAfterMs);
        this.#record(error, delayMs);
        return await this.#release(delayMs);
      }
      case 'open-breaker':
        this.#record(error, limits.deferredDelayMs);
        await this.#openBreaker(error, next.scope);
        return await this.#release(limits.deferredDelayMs);
      case 'fail':
        this.#record(error, null);
        return await this.#fail(error);
      case 'abandon':
        return await this.#release(0);
      case 'raise':
        this.#record(error, 0);
        await this.#release(0);
        throw error;
    }
  }

  /** A call that would be cut off by the end of its worker is better made by the next one. */
  #hasTimeAfter(waitMs: number): boolean {
    return this.#worker.hasTimeFor?.(waitMs + this.#lane.timeoutMs) ?? true;
  }

  #record(error: ThriceError, waitMs: number | null): void {
    this.#attemptLog.push({
      at: this.#now(),
      step: ANSWER_STEP,
      error: describeError(error),
      latencyMs: error.details.latencyMs ?? null,
      waitMs,
      costUsd: error.details.costUsd ?? null,
    });
    this.#worker.observe({ kind: 'call-failed', key: this.#key, error, waitMs });
  }

  async #release(delayMs: number): Promise<Settlement> {
    this.#isReleased = true;
    await this.#worker.ledger.releaseCell(
      this.#key,
      this.#worker.owner,
      this.#attemptLog,
      this.#attempts,
    );
    return { kind: 'release', delayMs };
  }

  async #openBreaker(error: ThriceError, scope: 'lane' | 'model'): Promise<void> {
    const breaker: OpenBreaker = {
      schemaVersion: 1,
      breakerKey: scope === 'lane' ? this.#lane.name : modelRefOf(this.#config),
      error: describeError(error),
      openedAt: this.#now(),
      resetAt: error.details.resetAt ?? null,
    };
    // Before the write: a cell that waits for our slot must not send one more call meanwhile.
    this.#worker.observe({ kind: 'breaker-opened', breaker });
    await this.#worker.ledger.openBreaker(breaker);
  }

  async #fail(error: ThriceError): Promise<Settlement> {
    return await this.#store({
      outcome: 'failed',
      score: null,
      answer: null,
      reason: error.code,
      error: describeError(error),
      costUsd: null,
      latencyMs: null,
      startedAt: this.#worker.clock.toIso(this.#startedAtMs),
      calls: [],
    });
  }

  async #complete(question: Question, entry: JournalEntry): Promise<Settlement> {
    const { call, output } = entry;
    return await this.#store({
      ...gradeAnswer(this.#config.scorer, question, output, call.finishReason),
      error: null,
      costUsd: call.costUsd,
      latencyMs: call.latencyMs,
      startedAt: call.startedAt,
      calls: [call],
    });
  }

  async #store(result: Omit<CellResult, 'attempts' | 'finishedAt'>): Promise<Settlement> {
    const { ledger, owner, observe } = this.#worker;
    const complete: CellResult = {
      ...result,
      attempts: result.outcome === 'failed' ? Math.max(1, this.#attempts) : this.#attempts + 1,
      finishedAt: this.#now(),
    };
    const isOurs = await ledger.completeCell(this.#key, owner, complete, this.#attemptLog);
    // Another worker has it, who may die over it: only the task of a cell that is done may be let go.
    if (!isOurs) return { kind: 'release', delayMs: limits.heartbeatMs };
    observe({ kind: 'cell-completed', key: this.#key, result: complete });
    return { kind: 'acknowledge' };
  }
}

/** An error in the form that is stored: its text cut, its cause left behind. */
export function describeError(error: ThriceError): CellError {
  const message = error.message.slice(0, limits.errorTextChars);
  return { class: error.class, code: error.code, message };
}

function wrongServedModel(call: Call): ThriceError {
  return new ThriceError({
    code: 'wrong-served-model',
    message: `expected an answer of "${call.model}", received one of "${call.servedModel ?? ''}"`,
    details: { latencyMs: call.latencyMs, costUsd: call.costUsd ?? undefined },
  });
}

function contentFiltered(call: Call): ThriceError {
  return new ThriceError({
    code: 'content-filtered',
    message: 'the vendor filtered the answer',
    details: { latencyMs: call.latencyMs, costUsd: call.costUsd ?? undefined },
  });
}

function leaseLost(): ThriceError {
  return new ThriceError({ code: 'lease-lost', message: 'another worker took the cell over' });
}

function breakerOpenedMeanwhile(): ThriceError {
  return new ThriceError({
    code: 'interrupted',
    message: 'the lane was blocked before the call was sent',
  });
}
