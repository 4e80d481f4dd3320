import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { mapSdkError } from '../../../packages/aws/src/map-sdk-error.ts';

/** An error as thrown by the SDK. */
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
    ['BadDigest', 400],
    ['Unknown', 500],
    ['Unknown', 503],
    ['Unknown', 429],
    ['Unknown', 408],
  ])('classifies %s with status %s as transient', (name, status) => {
    const mapped = mapSdkError(sdkError(name, status), 'table t');

    expect(mapped).toMatchObject({ code: 'store-unavailable', class: 'transient' });
  });

  it.each(['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'])(
    'classifies a connection lost with %s as transient',
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
  ])('classifies %s with status %s as misconfigured', (name, status) => {
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
  ])('classifies any other error as a bug: %s', (thrown) => {
    const mapped = mapSdkError(thrown, 'table t');

    expect(mapped).toMatchObject({ code: 'invariant-violated', class: 'internal', cause: thrown });
  });

  it('names the store and the error, and keeps the cause', () => {
    const thrown = sdkError('SlowDown', 503);

    const mapped = mapSdkError(thrown, 's3://b/k');

    expect(mapped.message).toBe(
      's3://b/k: the service is unavailable (SlowDown); try again later, no data is lost',
    );
    expect(mapped.cause).toBe(thrown);
  });

  // The texts are those of credential-provider-sso 3.973.28, token-providers and credential-provider-login beside it.
  it.each([
    [
      'The SSO session associated with this profile has expired. To refresh this SSO session run aws sso login with the corresponding profile.',
      'aws sso login',
    ],
    [
      "The SSO session token associated with profile=dev was not found or is invalid. To refresh this SSO session run 'aws sso login' with the corresponding profile.",
      'aws sso login',
    ],
    ['Your session has expired. Please reauthenticate.', 'aws login'],
  ])('says how to sign in again: %s', (text, command) => {
    const thrown = Object.assign(new Error(text), { name: 'CredentialsProviderError' });

    const { code, message } = mapSdkError(thrown, 'table t');

    expect(code).toBe('store-unusable');
    expect(message).toBe(
      `AWS credentials: expected a profile that is signed in, received one whose session has expired or is missing; sign in again with "${command}", with --profile unless it is the default one`,
    );
  });

  it('tells expired credentials from a refused request', () => {
    const { message } = mapSdkError(sdkError('ExpiredTokenException', 400), 'table t');

    expect(message).toBe(
      'AWS credentials: expected credentials that are still valid, received expired ones (ExpiredTokenException); get new ones, for example with "aws sso login"',
    );
  });

  it('says that there are no credentials at all', () => {
    const { message } = mapSdkError(sdkError('CredentialsProviderError'), 'table t');

    expect(message).toBe(
      'AWS credentials: expected credentials in the environment or the AWS profile, found none',
    );
  });

  it('names another kind of timeout by its name', () => {
    const { message } = mapSdkError(sdkError('TimeoutError'), 'table t');

    expect(message).toContain('(TimeoutError)');
  });

  it('returns a ThriceError unchanged', () => {
    const error = new ThriceError({ code: 'already-exists', message: 'there' });

    expect(mapSdkError(error, 'table t')).toBe(error);
  });
});
