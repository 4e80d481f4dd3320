/** What a failure means for the cell, the lane and the command; decided once, at the edge. */
export type ErrorClass =
  | 'input'
  | 'transient'
  | 'rate-limited'
  | 'exhausted'
  | 'misconfigured'
  | 'rejected'
  | 'conflict'
  | 'internal';

/** Every code, under the one class it belongs to; `docs/errors.md` explains each. */
export const errorCodesByClass = {
  input: [
    'invalid-spec',
    'invalid-question',
    'invalid-argument',
    'invalid-file',
    'unknown-dataset',
    'unknown-group',
    'spec-changed',
    'unsupported',
  ],
  transient: [
    'model-timeout',
    'model-unavailable',
    'truncated-response',
    'connection-failed',
    'store-unavailable',
    'unclassified',
  ],
  'rate-limited': ['model-rate-limited'],
  exhausted: ['quota-exhausted'],
  misconfigured: [
    'auth-failed',
    'unknown-model',
    'wrong-served-model',
    'missing-key',
    'endpoint-unreachable',
    'store-unusable',
  ],
  rejected: ['context-too-long', 'content-filtered', 'invalid-request'],
  conflict: ['already-exists', 'lease-lost', 'interrupted'],
  internal: ['invariant-violated', 'worker-died'],
} as const satisfies Record<ErrorClass, readonly string[]>;

/** The closed union of error codes; identity of an error is its code, never its message. */
export type ErrorCode = (typeof errorCodesByClass)[ErrorClass][number];

const classByCode = new Map<ErrorCode, ErrorClass>(
  (Object.entries(errorCodesByClass) as [ErrorClass, readonly ErrorCode[]][]).flatMap(
    ([errorClass, codes]) => codes.map((code) => [code, errorClass] as const),
  ),
);

/** Facts beside the message; `undefined` where the source gave none. */
export interface ErrorDetails {
  /** How long the source asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** When an exhausted quota comes back, ISO-8601 UTC. */
  readonly resetAt?: string | undefined;
  /** HTTP status of the response, where there was one. */
  readonly status?: number | undefined;
  /** Further lines for the user, one problem each. */
  readonly problems?: readonly string[] | undefined;
  /** How long the failed request took, in milliseconds. */
  readonly latencyMs?: number | undefined;
  /** The rate-limit headers of the response, lowercase names. */
  readonly rateLimits?: Readonly<Record<string, string>> | undefined;
  /** What the failed request is known to have cost, USD. */
  readonly costUsd?: number | undefined;
}

/** The one error type: built from one object, its class follows from its code. */
export class ThriceError extends Error {
  override readonly name = 'ThriceError';
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly details: ErrorDetails;

  constructor(init: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: ErrorDetails;
    readonly cause?: unknown;
  }) {
    super(init.message, { cause: init.cause });
    this.code = init.code;
    this.class = classByCode.get(init.code) ?? 'internal';
    this.details = init.details ?? {};
  }
}

/** The class a code belongs to. */
export function classOfCode(code: ErrorCode): ErrorClass {
  return classByCode.get(code) ?? 'internal';
}

/** Wraps anything thrown: a {@link ThriceError} as it is, all else as a bug. */
export function toThriceError(thrown: unknown): ThriceError {
  if (thrown instanceof ThriceError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ThriceError({ code: 'invariant-violated', message, cause: thrown });
}

/** Closes a `switch` over a union: unreachable while the types hold. */
export function assertNever(value: never): never {
  throw new ThriceError({
    code: 'invariant-violated',
    message: `Unexpected value: ${JSON.stringify(value)}`,
  });
}
