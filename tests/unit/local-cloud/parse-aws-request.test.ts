import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { S3Input } from '../../../packages/local-cloud/src/intercept.ts';
import {
  changeInput,
  type InterceptedRequest,
  parseAwsRequest,
} from '../../../packages/local-cloud/src/parse-aws-request.ts';

describe('parseAwsRequest', () => {
  it.each([
    ['GET', '/bucket?list-type=2&prefix=a', 'ListObjectsV2'],
    ['HEAD', '/bucket', 'HeadBucket'],
    ['POST', '/bucket?delete=', 'DeleteObjects'],
    ['GET', '/bucket/a/b?x-id=GetObject', 'GetObject'],
    ['HEAD', '/bucket/a', 'HeadObject'],
    ['PUT', '/bucket/a?x-id=PutObject', 'PutObject'],
    ['DELETE', '/bucket/a', 'DeleteObject'],
    ['POST', '/bucket/a?uploads=', 'CreateMultipartUpload'],
    ['PUT', '/bucket/a?partNumber=1&uploadId=u', 'UploadPart'],
    ['GET', '/bucket/a?uploadId=u', 'ListParts'],
    ['POST', '/bucket/a?uploadId=u', 'CompleteMultipartUpload'],
    ['DELETE', '/bucket/a?uploadId=u', 'AbortMultipartUpload'],
    ['PATCH', '/bucket/a', ''],
  ])('reads %s %s as %s', (method, path, operation) => {
    expect(parseAwsRequest('s3', aRequest({ method, path })).operation).toBe(operation);
  });

  it.each([
    ['/bucket/a', 'CopyObject'],
    ['/bucket/a?partNumber=1&uploadId=u', 'UploadPartCopy'],
  ])('reads PUT %s with a copy source as %s', (path, operation) => {
    const headers = { 'x-amz-copy-source': '/bucket/b' };

    const request = parseAwsRequest('s3', aRequest({ method: 'PUT', path, headers }));

    expect(request.operation).toBe(operation);
  });

  it('finds the environment in the user agent', () => {
    const headers = { 'user-agent': 'aws-sdk-js/3.1162.0 ua/2.1 m/E,n app/Answer-12 lang/js' };

    expect(parseAwsRequest('sqs', aRequest({ headers })).environmentId).toBe('Answer-12');
  });

  it('finds the environment when Powertools has appended its mark', () => {
    const headers = { 'user-agent': 'aws-sdk-js/3.1162.0 app/Answer-12-PTEnv-NA' };

    expect(parseAwsRequest('sqs', aRequest({ headers })).environmentId).toBe('Answer-12');
  });

  it('finds no environment when the user agent names none', () => {
    const headers = { 'user-agent': 'aws-sdk-js/3.1162.0 my-app/1' };

    expect(parseAwsRequest('sqs', aRequest({ headers })).environmentId).toBeUndefined();
  });

  it.each(['', '{', '[]', '"text"'])('reads the body %j as an empty input', (text) => {
    const headers = { 'x-amz-target': 'DynamoDB_20120810.ListTables' };

    const parsed = parseAwsRequest('dynamodb', aRequest({ headers, body: Buffer.from(text) }));

    expect(parsed).toEqual({
      service: 'dynamodb',
      operation: 'ListTables',
      input: {},
      environmentId: undefined,
    });
  });
});

describe('changeInput', () => {
  it('round-trips any S3 input', () => {
    // A URL cannot hold the segments `.` and `..`: parsing one removes them.
    const aKey = fc
      .array(fc.string({ unit: 'grapheme' }), { minLength: 1 })
      .map((parts) => parts.join('/'))
      .filter((key) => /[^/]/.test(key) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(key));
    const anInput = fc.record({
      bucket: fc.stringMatching(/^[a-z0-9-]{3,20}$/),
      key: aKey,
      query: fc.dictionary(fc.stringMatching(/^[a-z-]{1,9}$/), fc.string({ unit: 'grapheme' })),
      headers: fc.constant({ range: 'bytes=0-1' }),
      body: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    });

    fc.assert(
      fc.property(anInput, (input: S3Input) => {
        const changed = changeInput('s3', aRequest({ method: 'PUT' }), input);

        expect(parseAwsRequest('s3', changed).input).toEqual(input);
      }),
    );
  });

  it('replaces only the body for the other services', () => {
    const request = aRequest({ path: '/', headers: { a: 'b' } });

    const changed = changeInput('sqs', request, { MessageBody: 'ü' });

    expect(changed).toEqual({ ...request, body: Buffer.from('{"MessageBody":"ü"}') });
  });
});

function aRequest(own: Partial<InterceptedRequest> = {}): InterceptedRequest {
  return { method: 'POST', path: '/bucket/a', headers: {}, body: Buffer.alloc(0), ...own };
}
