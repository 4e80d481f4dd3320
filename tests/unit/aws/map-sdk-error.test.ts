import { mapSdkError } from '@thrice/aws';
import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** An error as the SDK throws it. */
function sdkError(name: string, status?: number): Error {
  const error = Object.assign(new Error('AccessDenied SlowDown NoSuchBucket'), {
    $metadata: { httpStatusCode: status },
  });
  error.name = name;
  return error;
}

function networkError(code: string): Error {
  return Object.assign(new Error('no connection'), { code });
}

describe('mapSdkError', () => {
  it.each([
    ['ProvisionedThroughputExceededException', 400],
    ['ThrottlingException', 400],
    ['RequestLimitExceeded', 400],
    ['RequestThrottled', 400],
    ['KmsThrottled', 400],
    ['OverLimit', 403],
    ['SlowDown', 503],
    ['InternalServerError', 500],
    ['RequestTimeout', 400],
    ['TimeoutError', undefined],
    ['NoSuchUpload', 404],
    ['Unknown', 500],
    ['Unknown', 503],
    ['Unknown', 429],
    ['Unknown', 408],
  ])('says that %s with status %s passes', (name, status) => {
    const mapped = mapSdkError(sdkError(name, status), 'table t');

    expect(mapped).toMatchObject({ code: 'store-unavailable', class: 'transient' });
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'])(
    'says that a connection lost with %s passes',
    (code) => {
      expect(mapSdkError(networkError(code), 'table t').code).toBe('store-unavailable');
    },
  );

  it.each([
    ['AccessDenied', 403],
    ['AccessDeniedException', 400],
    ['UnrecognizedClientException', 400],
    ['InvalidClientTokenId', 403],
    ['InvalidAccessKeyId', 403],
    ['SignatureDoesNotMatch', 403],
    ['ExpiredTokenException', 400],
    ['CredentialsProviderError', undefined],
    ['ResourceNotFoundException', 400],
    ['NoSuchBucket', 404],
    ['PermanentRedirect', 301],
    ['QueueDoesNotExist', 400],
    ['AWS.SimpleQueueService.NonExistentQueue', 400],
    ['KmsAccessDenied', 400],
    ['Unknown', 401],
    ['Unknown', 403],
  ])('says that %s with status %s has to be repaired', (name, status) => {
    const mapped = mapSdkError(sdkError(name, status), 'table t');

    expect(mapped).toMatchObject({ code: 'store-unusable', class: 'misconfigured' });
  });

  it.each([
    sdkError('ValidationException', 400),
    sdkError('Unknown', 404),
    sdkError('Unknown'),
    networkError('EACCES'),
    new TypeError('a bug'),
    'a text',
  ])('takes anything else for a bug of ours: %s', (thrown) => {
    const mapped = mapSdkError(thrown, 'table t');

    expect(mapped).toMatchObject({ code: 'invariant-violated', class: 'internal', cause: thrown });
  });

  it('names the store and the error, and keeps the cause', () => {
    const thrown = sdkError('SlowDown', 503);

    const mapped = mapSdkError(thrown, 's3://b/k');

    expect(mapped.message).toBe(
      's3://b/k: the service did not serve the request (SlowDown); try again, nothing is lost',
    );
    expect(mapped.cause).toBe(thrown);
  });

  it('passes on what is an error of ours already', () => {
    const ours = new ThriceError({ code: 'already-exists', message: 'there' });

    expect(mapSdkError(ours, 'table t')).toBe(ours);
  });
});
