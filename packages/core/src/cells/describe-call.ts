import type { ServedModelPolicy } from '../domain/benchmark-spec.ts';
import { modelRefOf } from '../domain/breaker.ts';
import type { Call } from '../domain/call.ts';
import { ThriceError } from '../errors.ts';
import type { ModelResponse } from '../ports/model-client.ts';
import type { StepRequest } from '../ports/solver.ts';
import { priceUsage } from '../pricing/price-usage.ts';
import type { CallOption } from './call-options.ts';
import { isOtherModel, wrongServedModel } from './cell-errors.ts';
import type { Worker } from './worker.ts';

/** When a call was sent, and under which id. */
export interface SentRequest {
  readonly callId: string;
  readonly startedAtMs: number;
  /** Monotonic; of a response in the background, when it was last asked for. */
  readonly startedMs: number;
  readonly waitMs: number;
}

/** Describes a call by its response, but for whether that answers the step. */
export function describeCall(
  { step, request, insteadOf }: CallOption,
  response: ModelResponse,
  { startedAtMs, waitMs }: Pick<SentRequest, 'startedAtMs' | 'waitMs'>,
  { benchmark, clock }: Pick<Worker, 'benchmark' | 'clock'>,
): Omit<Call, 'discarded'> {
  const price = benchmark.prices.get(modelRefOf(request));
  const serviceTier = response.usage.serviceTier ?? request.serviceTier ?? null;
  const usage = { ...response.usage, serviceTier };
  return {
    step,
    lane: request.lane,
    endpoint: response.endpoint,
    model: request.model,
    servedModel: response.servedModel,
    startedAt: clock.toIso(startedAtMs),
    // Whole: exact percentiles of millions of cells need memory for each different latency.
    latencyMs: Math.round(response.latencyMs),
    ttftMs: response.ttftMs === null ? null : Math.round(response.ttftMs),
    waitMs,
    ...usage,
    costUsd: priceUsage(price, usage),
    finishReason: response.finishReason,
    rawFinishReason: response.rawFinishReason,
    replayed: false,
    takenFrom: null,
    ...(insteadOf.length > 0 && { insteadOf: [...insteadOf] }),
  };
}

/** Returns why a response does not answer its step; undefined if it does. */
export function findFault(
  response: ModelResponse,
  request: StepRequest,
  servedModel: ServedModelPolicy,
): ThriceError | undefined {
  if (response.fault !== undefined) return response.fault;
  if (servedModel === 'pin' && isOtherModel(response, request.model))
    return wrongServedModel(response, request);
  if (response.finishReason !== 'content-filter') return undefined;
  return new ThriceError({ code: 'content-filtered', message: 'the vendor filtered the answer' });
}
