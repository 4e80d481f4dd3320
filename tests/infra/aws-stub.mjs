#!/usr/bin/env node
// An in-memory stub for the AWS calls of the sst CLI itself: its bootstrap record and passphrases (SSM),
// state, locks, and secrets (S3), and the caller's identity (STS). It answers anything else with 501.
//
// Prints its address when it is ready.
import { createServer } from 'node:http';

const ACCOUNT = '123456789012';
/** Higher than any real version, so that sst does not migrate anything. */
const BOOTSTRAP_VERSION = 99;

const parameters = new Map([
  [
    '/sst/bootstrap',
    JSON.stringify({
      version: BOOTSTRAP_VERSION,
      asset: 'sst-asset-test',
      state: 'sst-state-test',
      assetEcrRegistryId: ACCOUNT,
      assetEcrUrl: `${ACCOUNT}.dkr.ecr.us-east-1.amazonaws.com/sst-asset`,
    }),
  ],
]);
/** By path: `/<bucket>/<key>`. */
const objects = new Map();

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const { status = 200, type = 'application/xml', content = '' } = answer(request, body);
  response.writeHead(status, { 'content-type': type });
  response.end(content);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));

function answer({ method, url, headers }, body) {
  const [service, action] = (headers['x-amz-target'] ?? '').split('.');
  if (service === 'AmazonSSM') return answerParameter(action, JSON.parse(body));
  if (body.toString().startsWith('Action=GetCallerIdentity')) return answerIdentity();
  const { pathname, searchParams } = new URL(url, 'http://stub.invalid');
  const [, bucket, key] = /^\/([^/]+)\/?(.*)$/.exec(pathname) ?? [];
  if (bucket === undefined) return { status: 501 };
  if (key !== '') return answerObject(method, pathname, body);
  return answerBucket(method, bucket, searchParams, body);
}

function answerParameter(action, { Name, Value }) {
  const json = (content, status = 200) => ({
    status,
    type: 'application/x-amz-json-1.1',
    content: JSON.stringify(content),
  });
  switch (action) {
    case 'GetParameter': {
      const value = parameters.get(Name);
      if (value === undefined) return json({ __type: 'ParameterNotFound', message: Name }, 400);
      return json({ Parameter: { Name, Type: 'String', Value: value } });
    }
    case 'PutParameter':
      parameters.set(Name, Value);
      return json({ Version: 1 });
    case 'DeleteParameter':
      parameters.delete(Name);
      return json({});
    default:
      return { status: 501 };
  }
}

function answerIdentity() {
  const identity = `<Arn>arn:aws:iam::${ACCOUNT}:user/stub</Arn><UserId>STUB</UserId><Account>${ACCOUNT}</Account>`;
  return {
    content: `<GetCallerIdentityResponse><GetCallerIdentityResult>${identity}</GetCallerIdentityResult></GetCallerIdentityResponse>`,
  };
}

function answerBucket(method, bucket, searchParams, body) {
  if (method === 'GET') {
    const prefix = `/${bucket}/${searchParams.get('prefix') ?? ''}`;
    const contents = [...objects]
      .filter(([path]) => path.startsWith(prefix))
      .map(
        ([path, { length }]) =>
          `<Contents><Key>${path.slice(bucket.length + 2)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>${length}</Size></Contents>`,
      );
    return {
      content: `<ListBucketResult><Name>${bucket}</Name><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`,
    };
  }
  if (method === 'POST' && searchParams.has('delete')) {
    for (const [, key] of body.toString().matchAll(/<Key>(.*?)<\/Key>/g)) {
      objects.delete(`/${bucket}/${key}`);
    }
    return { content: '<DeleteResult></DeleteResult>' };
  }
  return { status: 501 };
}

function answerObject(method, path, body) {
  switch (method) {
    case 'PUT':
      objects.set(path, body);
      return {};
    case 'GET':
    case 'HEAD': {
      const content = objects.get(path);
      if (content !== undefined) return { content };
      return {
        status: 404,
        content: '<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>',
      };
    }
    case 'DELETE':
      objects.delete(path);
      return { status: 204 };
    default:
      return { status: 501 };
  }
}
