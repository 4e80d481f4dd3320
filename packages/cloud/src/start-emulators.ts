import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import dynalite from 'dynalite';
import { createRequestHandler } from 'local-aws-sqs';
import S3rver from 's3rver';
import { correctQueue } from './correct-queue.ts';
import { MemoryS3Store } from './memory-s3-store.ts';
import type { Queue } from './stack.ts';

/** The S3 emulator knows this account only. */
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;

/** Emulators of DynamoDB, SQS and S3, all in memory and on loopback. */
export interface Emulators extends AsyncDisposable {
  readonly region: string;
  readonly credentials: typeof credentials;
  readonly dynamoUrl: string;
  readonly sqsUrl: string;
  readonly s3Url: string;
}

/**
 * Starts the emulators in this process.
 *
 * Buckets and queues are there from the start, for their emulators are told of them this way; tables are
 * made with requests.
 */
export async function startEmulators(init: {
  readonly region: string;
  readonly bucketNames: readonly string[];
  readonly queues: readonly Queue[];
}): Promise<Emulators> {
  await using stack = new AsyncDisposableStack();
  const start = async (server: Server) => {
    const port = await listen(server);
    stack.defer(() => close(server));
    return port;
  };

  const dynamoPort = await start(dynalite({ createTableMs: 0 }));

  const sqs = createRequestHandler({
    port: 0,
    hostname: '127.0.0.1',
    region: init.region,
    // A queue may be listed before the one its dead letters go to.
    validateDlqDestination: false,
    queues: init.queues.map(toInitialQueue),
  });
  stack.defer(() => sqs.service.resetAll());
  for (const queue of sqs.service.Queues) correctQueue(queue);
  const sqsPort = await start(
    createServer((request, response) => void sqs.requestHandler(request, response)),
  );
  sqs.service.PORT = sqsPort;

  const s3 = createS3(init.bucketNames);
  stack.defer(s3.close);
  const s3Port = await start(createServer(s3.answer));

  const owned = stack.move();
  return {
    region: init.region,
    credentials,
    dynamoUrl: `http://127.0.0.1:${dynamoPort}`,
    sqsUrl: `http://127.0.0.1:${sqsPort}`,
    s3Url: `http://127.0.0.1:${s3Port}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function toInitialQueue(queue: Queue) {
  return {
    QueueName: queue.name,
    Attributes: {
      DelaySeconds: queue.delaySeconds,
      VisibilityTimeout: queue.visibilityTimeoutSeconds,
      ReceiveMessageWaitTimeSeconds: queue.receiveWaitTimeSeconds,
      ...(queue.messageRetentionSeconds !== undefined && {
        MessageRetentionPeriod: queue.messageRetentionSeconds,
      }),
      ...(queue.redrivePolicy !== undefined && { RedrivePolicy: queue.redrivePolicy }),
    },
  };
}

function createS3(bucketNames: readonly string[]): {
  readonly answer: RequestListener;
  readonly close: () => void;
} {
  const store = new MemoryS3Store();
  for (const name of bucketNames) store.addBucket(name);
  const emulator = new S3rver({ silent: true, vhostBuckets: false });
  emulator.store = store;
  emulator.context.store = store;
  const answer = emulator.callback();
  return {
    answer(request, response) {
      // The one request of ours that the emulator does not know: to abort an upload.
      const uploadId = new URL(request.url ?? '', 'http://127.0.0.1').searchParams.get('uploadId');
      if (request.method !== 'DELETE' || uploadId === null) {
        answer(request, response);
        return;
      }
      store.abortUpload(uploadId);
      response.writeHead(204).end();
    },
    close() {
      emulator.logger.exceptions.unhandle();
      emulator.logger.close();
    },
  };
}

async function listen(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
