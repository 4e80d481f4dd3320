import { isServedModel } from '../calls/is-served-model.ts';
import type { Batch } from '../domain/batch.ts';
import type { Call } from '../domain/call.ts';
import type { Submission } from '../domain/submission.ts';
import { type ErrorDetails, ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { ModelResponse } from '../ports/model-client.ts';
import type { StepRequest } from '../ports/solver.ts';

/** The worker died that submitted a call, so that nobody knows what became of it. */
export function unknownSubmission({ callId }: Submission): ThriceError {
  return new ThriceError({
    code: 'worker-died',
    message: `the last worker died while it submitted call ${callId}: the vendor may have accepted and billed it`,
  });
}

/** A step asks for a background response of a lane that has none. */
export function noBackgroundMode({ lane }: StepRequest): ThriceError {
  return new ThriceError({
    code: 'invariant-violated',
    message: `a step asks for a background response of lane "${lane}", whose protocol has none`,
  });
}

/** A step is to go through a batch where nobody sends one. */
export function noBatches({ lane }: StepRequest): ThriceError {
  return new ThriceError({
    code: 'invariant-violated',
    message: `lane "${lane}" answers in batches, which this worker does not have`,
  });
}

/** The worker died that sent a batch, so that nobody knows what became of it. */
export function unknownBatch({ batchId }: Batch): ThriceError {
  return new ThriceError({
    code: 'worker-died',
    message: `batch ${batchId} was sent and not found again: the vendor may have accepted and billed it`,
  });
}

/** A solver asks for a step that is recorded. */
export function stepRequestedTwice(kind: string, step: string): ThriceError {
  return new ThriceError({
    code: 'invariant-violated',
    message: `solver "${kind}" requested step "${step}", which is already recorded`,
  });
}

/** A solver asks for more steps than a cell may have. */
export function tooManySteps(kind: string): ThriceError {
  return new ThriceError({
    code: 'invariant-violated',
    message: `solver "${kind}" requested more than ${limits.stepsPerCell} steps`,
  });
}

/** Whether a response names another model than its request. */
export function isOtherModel(
  { servedModel, endpoint }: Pick<Call, 'servedModel' | 'endpoint'>,
  requested: string,
): boolean {
  return !isServedModel({ requested, served: servedModel, endpoint });
}

/** Another model has answered than the one that was asked. */
export function wrongServedModel(
  { servedModel }: ModelResponse,
  { lane, model }: StepRequest,
): ThriceError {
  return new ThriceError({
    code: 'wrong-served-model',
    message: `expected an answer of "${model}", received one of "${servedModel ?? ''}"; if that is the same model, set served_model = "warn" or "allow" in [lanes.${lane}] or the config, and take that in with "thrice resume GROUP --spec SPEC": the answers so far are kept`,
  });
}

/**
 * The error of a request, with what to do about it where its server may have refused the schema of the output. Of a
 * request without one, it is about what the user has put into `extra_body`.
 */
export function explainRefusal(
  error: ThriceError,
  { lane, model, outputSchema }: Pick<StepRequest, 'lane' | 'model' | 'outputSchema'>,
): ThriceError {
  const { code, message, details } = error;
  const isStructural = code === 'structured-output-refused';
  if (outputSchema === undefined) {
    return isStructural ? new ThriceError({ code: 'invalid-request', message, details }) : error;
  }
  if (!isStructural && code !== 'invalid-request') return error;
  const remedy = `add "${model}" to tagged_text of [lanes.${lane}], so that it is asked for the confidence in the text`;
  const advice = isStructural
    ? `${remedy}, and take that in with "thrice resume GROUP --spec SPEC"`
    : `if it refuses structured output, ${remedy}`;
  return new ThriceError({ code, message: `${message}; ${advice}`, details, cause: error });
}

/** The error of a rate limit that has lasted so long that its lane is blocked, as it is by an exhausted quota. */
export function asLastingLimit(refusal: ThriceError): ThriceError {
  const minutes = limits.longestHoldMs / 60_000;
  const { latencyMs, costUsd } = refusal.details;
  return new ThriceError({
    code: 'quota-exhausted',
    message: `every call was refused for ${minutes} minutes: ${refusal.message}`,
    details: { breakerScope: 'lane', latencyMs, costUsd },
    cause: refusal,
  });
}

/** A vendor's queue has no room for a batch, and no other batch of the group will make any. */
export function fullBatchQueue(refusal: ThriceError): ThriceError {
  return new ThriceError({
    code: 'quota-exhausted',
    message: refusal.message,
    details: { breakerScope: 'model' },
    cause: refusal,
  });
}

/** Returns the same error with what the call took and cost. */
export function withPayment(
  { code, message, details, cause }: ThriceError,
  { latencyMs, costUsd }: Call,
): ThriceError {
  const paid = { ...details, latencyMs, costUsd: costUsd ?? undefined };
  return new ThriceError({ code, message, details: paid, cause });
}

/** Another worker has taken the cell over. */
export function leaseLost(details: ErrorDetails = {}): ThriceError {
  const message = 'another worker took the cell over';
  return new ThriceError({ code: 'lease-lost', message, details });
}
