import { type ErrorCode, ThriceError, toThriceError } from '@thrice/core';

type StoreCode = Extract<ErrorCode, 'store-unavailable' | 'store-unusable'>;

/**
 * Names of errors that pass by themselves: throttling, overload, timeouts.
 *
 * Those of the SDK's own retry classification, and of S3 and SQS; see
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html (2026-11).
 */
const TRANSIENT_NAMES: ReadonlySet<string> = new Set([
  'BandwidthLimitExceeded',
  'InternalError',
  'InternalFailure',
  'InternalServerError',
  'KmsThrottled',
  'LimitExceededException',
  // An upload in parts that somebody ended meanwhile: it can be made again.
  'NoSuchUpload',
  'OperationAborted',
  'OverLimit',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'RequestTimeout',
  'RequestTimeoutException',
  'ServiceUnavailable',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TimeoutError',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);

/** Codes of Node's sockets and resolver: the service was not reached, or not to the end. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ETIMEDOUT',
]);

/** Names of errors that stay until somebody repairs permissions, credentials or the deployment. */
const UNUSABLE_NAMES: ReadonlySet<string> = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'AllAccessDisabled',
  'AuthFailure',
  'AuthorizationHeaderMalformed',
  'AWS.SimpleQueueService.NonExistentQueue',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'IncompleteSignature',
  'IncompleteSignatureException',
  'InvalidAccessKeyId',
  'InvalidAddress',
  'InvalidClientTokenId',
  'InvalidSecurity',
  'InvalidSignatureException',
  'KmsAccessDenied',
  'KmsDisabled',
  'KmsInvalidKeyUsage',
  'KmsInvalidState',
  'KmsNotFound',
  'KmsOptInRequired',
  'MissingAuthenticationToken',
  'MissingAuthenticationTokenException',
  'NoSuchBucket',
  'OptInRequired',
  'PermanentRedirect',
  'QueueDoesNotExist',
  'RequestExpired',
  'RequestTimeTooSkewed',
  'ResourceNotFoundException',
  'SignatureDoesNotMatch',
  'TokenProviderError',
  'UnrecognizedClientException',
]);

/**
 * Translates what an AWS SDK client throws, by its name and status; anything else is a bug.
 *
 * The SDK has retried what it could before: a transient error here means that the retries failed too.
 *
 * @param store - What was asked, for the message: `table thrice-ledger`.
 */
export function mapSdkError(thrown: unknown, store: string): ThriceError {
  if (thrown instanceof ThriceError) return thrown;
  if (!(thrown instanceof Error)) return toThriceError(thrown);
  const code = codeOf(thrown);
  return code === undefined
    ? toThriceError(thrown)
    : storeError(code, store, nameOf(thrown), thrown);
}

/** Translates an entry of a batch that failed alone. */
export function mapEntryError(
  {
    Code: name = 'unknown',
    SenderFault,
  }: { readonly Code?: string | undefined; readonly SenderFault?: boolean | undefined },
  store: string,
): ThriceError {
  const code = codeOfName(name) ?? (SenderFault === true ? undefined : 'store-unavailable');
  if (code !== undefined) return storeError(code, store, name);
  return new ThriceError({
    code: 'invariant-violated',
    message: `${store}: expected a valid entry, received ${name}`,
  });
}

/** Whether something thrown carries one of these names. */
export function isNamed(thrown: unknown, ...names: readonly string[]): boolean {
  return thrown instanceof Error && names.includes(thrown.name);
}

function storeError(code: StoreCode, store: string, name: string, cause?: unknown): ThriceError {
  if (name === 'CredentialsProviderError') {
    const message =
      'AWS credentials: expected some in the environment or in the AWS profile, found none';
    return new ThriceError({ code, message, cause });
  }
  const message =
    code === 'store-unavailable'
      ? `${store}: the service did not serve the request (${name}); try again, nothing is lost`
      : `${store}: the request was refused (${name}); check that it is deployed and that the credentials may use it`;
  return new ThriceError({ code, message, cause });
}

/** What an error is called by: of the network its code, which says more than `Error`. */
function nameOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return NETWORK_CODES.has(code) ? code : error.name;
}

function codeOf(error: Error): StoreCode | undefined {
  const byName = codeOfName(error.name);
  if (byName !== undefined) return byName;
  if ('code' in error && NETWORK_CODES.has(String(error.code))) return 'store-unavailable';
  return codeOfStatus(statusOf(error));
}

function codeOfName(name: string): StoreCode | undefined {
  if (TRANSIENT_NAMES.has(name)) return 'store-unavailable';
  return UNUSABLE_NAMES.has(name) ? 'store-unusable' : undefined;
}

function codeOfStatus(status: number | undefined): StoreCode | undefined {
  if (status === undefined) return undefined;
  if (status >= 500 || status === 408 || status === 429) return 'store-unavailable';
  return status === 401 || status === 403 ? 'store-unusable' : undefined;
}

function statusOf(error: Error): number | undefined {
  if (!('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number } | undefined)?.httpStatusCode;
}
