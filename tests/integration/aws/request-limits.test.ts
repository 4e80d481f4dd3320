import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import {
  clientConfig,
  DynamoLaneStates,
  DynamoLedger,
  S3BlobStore,
  SqsDeadLetterQueue,
  SqsTaskQueue,
  s3ClientConfig,
  sdkCredentials,
} from '@thrice/aws';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { collect } from '../../support/collect.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type RawServer, startRawServer, writeLazily } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/**
 * Limits far below those of a stage. The test's clock stands still: it allows the first retry, after 75 ms, and
 * not the second, after 150.
 */
const limits = { connectMs: 1_000, answerMs: 100, retryMs: 100 };

/** The error of a request that exceeded a limit. */
function exceeded(limit: string) {
  const message = expect.stringContaining(`the service is unavailable (${limit})`) as unknown;
  return { code: 'store-unavailable', class: 'transient', message };
}

interface Stores extends AsyncDisposable {
  readonly server: RawServer;
  readonly ledger: DynamoLedger;
  readonly blobs: S3BlobStore;
  readonly tasks: SqsTaskQueue;
  readonly deadLetterQueue: SqsDeadLetterQueue;
}

/**
 * Stores whose requests all arrive at one server.
 *
 * @param change - Of the settings of their clients.
 */
async function openStores(
  answer: (socket: Socket, piece: Buffer) => void,
  change: (config: ReturnType<typeof clientConfig>) => object = () => ({}),
): Promise<Stores> {
  const server = await startRawServer(answer);
  const clock = new FakeClock();
  const random = () => 0.5;
  const init = { maxAttempts: 8, clock, random, limits };
  const common = {
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${server.port}`,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    ...change(clientConfig(init)),
  };
  const dynamo = new DynamoDBClient({ ...clientConfig(init), ...common });
  const sqs = new SQSClient({ ...clientConfig(init), ...common });
  const s3 = new S3Client({ ...s3ClientConfig(init), ...common });
  const queueUrl = `${common.endpoint}/1/lab`;
  const blobs = new S3BlobStore({ client: s3, bucket: 'bucket' });
  return {
    server,
    blobs,
    ledger: new DynamoLedger({ client: dynamo, tableName: 'table', clock, random, blobs }),
    tasks: new SqsTaskQueue({
      client: sqs,
      queueUrls: new Map([['lab', queueUrl]]),
      clock,
      random,
      onPoison: () => undefined,
    }),
    deadLetterQueue: new SqsDeadLetterQueue({ client: sqs, queueUrl }),
    [Symbol.asyncDispose]: async () => {
      for (const client of [dynamo, sqs, s3]) client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

const requests = [
  ['a read of the ledger', ({ ledger }: Stores) => ledger.readGroup('group')],
  ['a receive', ({ tasks }: Stores) => tasks.receive('lab', 1)],
  ['a read of a blob', ({ blobs }: Stores) => blobs.readText('a')],
  ['a read of its lines', ({ blobs }: Stores) => collect(blobs.readLines('a'))],
  ['a read of a range', ({ blobs }: Stores) => blobs.readRange('a', 0, 1)],
  ['a look for a blob', ({ blobs }: Stores) => blobs.has('a')],
  ['a write of a blob', ({ blobs }: Stores) => blobs.write('a', ['text'])],
] as const;
const [readGroup, receive, ...blobRequests] = requests;

describe('an AWS service that accepts connections and never answers', () => {
  it.each([readGroup, receive])('fails %s after the attempts that fit', async (_, request) => {
    await using stores = await openStores(() => undefined);

    await expect(request(stores)).rejects.toMatchObject(exceeded('no answer within 0.1 s'));

    expect(stores.server.connectionCount).toBe(2);
  });

  it.each(blobRequests)('fails %s after the attempts that fit', async (_, request) => {
    await using stores = await openStores(() => undefined);

    await expect(request(stores)).rejects.toMatchObject(exceeded('silent for 0.1 s'));

    expect(stores.server.connectionCount).toBe(2);
  });

  it('fails a write that it stops receiving', async () => {
    await using stores = await openStores((socket) => socket.pause());

    const written = stores.blobs.write('a', ['x'.repeat(8 * 1024 * 1024)]);

    await expect(written).rejects.toMatchObject(exceeded('silent for 0.1 s'));
  });
});

describe('IAM Identity Center that accepts connections and never answers', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('fails a request that needs its credentials', async () => {
    const startUrl = 'https://start.example';
    await using folder = await temporaryFolder({
      config: [
        '[default]',
        `sso_start_url = ${startUrl}`,
        'sso_account_id = 123456789012',
        'sso_region = eu-west-1',
        'sso_role_name = benchmarks',
      ].join('\n'),
      // https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html (2026-11)
      [`.aws/sso/cache/${createHash('sha1').update(startUrl).digest('hex')}.json`]: JSON.stringify({
        accessToken: 'token',
        expiresAt: '2999-01-01T00:00:00Z',
      }),
    });
    await using server = await startRawServer(() => undefined);
    vi.stubEnv('HOME', folder.path);
    vi.stubEnv('AWS_CONFIG_FILE', folder.resolve('config'));
    vi.stubEnv('AWS_ENDPOINT_URL_SSO', `http://127.0.0.1:${server.port}`);
    for (const name of ['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) {
      vi.stubEnv(name, undefined);
    }
    const clock = new FakeClock();
    const init = { maxAttempts: 8, clock, random: () => 0.5, limits };
    const config = clientConfig({ ...init, credentials: sdkCredentials(init) });
    const client = new DynamoDBClient({ ...config, region: 'eu-west-1' });
    const table = { client, tableName: 'table', clock, random: () => 0.5 };

    const read = new DynamoLaneStates(table).read('lab');

    await expect(read).rejects.toMatchObject(exceeded('no answer within 0.1 s'));
    await expect(read).rejects.toThrow(/^AWS credentials: /);
    expect(server.connectionCount).toBe(2);
    client.destroy();
  });
});

describe('an AWS service that falls silent in the middle of a body', () => {
  it.each([readGroup, receive, ...blobRequests.slice(0, 3)])('fails %s', async (_, request) => {
    const bodies = ['{'];
    await using stores = await openStores(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n${bodies.pop() ?? ''}`);
      },
      // So that a slow machine does not exceed the other limit first.
      ({ requestHandler }) => ({
        requestHandler: { ...requestHandler, requestTimeout: 10_000 },
      }),
    );

    await expect(request(stores)).rejects.toMatchObject(exceeded('silent for 0.1 s'));
  });
});

describe('an AWS service that cannot be connected to', () => {
  it.each(requests)('fails %s', async (_, request) => {
    // A name that is never found keeps a connection from opening, as a lost packet does.
    await using stores = await openStores(
      () => undefined,
      ({ requestHandler }) => ({
        endpoint: 'http://service.invalid',
        requestHandler: {
          ...requestHandler,
          connectionTimeout: 20,
          httpAgent: { lookup: () => undefined },
        },
      }),
    );

    await expect(request(stores)).rejects.toMatchObject(exceeded('no connection within 0.02 s'));
  });
});

it('a hundred concurrent AWS requests do not wait for each other', async () => {
  const sockets: Socket[] = [];
  await using stores = await openStores(
    (socket) => {
      if (sockets.push(socket) < 100) return;
      for (const each of sockets) each.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    },
    () => clientConfig({ maxAttempts: 1, clock: new FakeClock(), random: () => 0.5 }),
  );

  const reads = Array.from({ length: 100 }, () => stores.ledger.readGroup('group'));

  expect(await Promise.all(reads)).toEqual(Array(100).fill(undefined));
});

it('a reader may pause for longer than S3 may be silent', async () => {
  const line = 'x'.repeat(1_023);
  const lineCount = 64 * 1_024;
  const closed = Promise.withResolvers<void>();
  await using stores = await openStores((socket, piece) => {
    const start = Number(/range: bytes=(\d+)-/.exec(piece.toString('latin1'))?.[1] ?? 0);
    const bytes = lineCount * 1_024 - start;
    socket.write(`HTTP/1.1 200 OK\r\netag: "tag"\r\ncontent-length: ${bytes}\r\n\r\n`);
    const whole = Buffer.from(`${line}\n`);
    const rest = whole.subarray(start % 1_024);
    const count = Math.ceil(bytes / 1_024);
    writeLazily(socket, (index) => (index === 0 ? rest : whole), count);
    socket.once('close', () => closed.resolve());
  });
  let readCount = 0;

  for await (const read of stores.blobs.readLines('a')) {
    expect(read).toBe(line);
    readCount += 1;
    // The reader's end closes the connection, through which nothing moves.
    if (readCount === 1) await closed.promise;
  }

  expect(readCount).toBe(lineCount);
  expect(stores.server.connectionCount).toBeGreaterThan(1);
});
