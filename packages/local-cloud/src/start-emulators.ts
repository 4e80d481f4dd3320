import { createServer, type RequestListener, type Server } from 'node:http';
import dynalite from 'dynalite';
import { createRequestHandler } from 'local-aws-sqs';
import S3rver from 's3rver';
import type { AwsService, Intercept } from './intercept.ts';
import { createInterceptingServer } from './intercepting-server.ts';
import { finishRequestsBeforeClose, listenOnLoopback } from './listen-on-loopback.ts';
import { MemoryS3Store } from './memory-s3-store.ts';
import { patchAttributeNames } from './patch-attribute-names.ts';
import { patchEmulatedQueue } from './patch-emulated-queue.ts';
import type { Queue } from './stack.ts';

/** The only account that the S3 emulator knows. */
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;

interface Addresses {
  readonly dynamoUrl: string;
  readonly sqsUrl: string;
  readonly s3Url: string;
}

/** Emulators of DynamoDB, SQS and S3, all in memory and on loopback. */
export interface Emulators extends Addresses, AsyncDisposable {
  readonly region: string;
  readonly credentials: typeof credentials;
  /** Addresses that bypass the interceptor: for creating a stack, and for undisturbed reads. */
  readonly direct: Addresses;
}

export interface EmulatorsInit {
  readonly region: string;
  readonly bucketNames: readonly string[];
  readonly queues: readonly Queue[];
  readonly intercept?: Intercept | undefined;
  /** Called with each error that the interceptor throws. */
  readonly onInterceptError?: (error: unknown) => void;
}

/**
 * Starts the emulators in this process.
 *
 * Creates the buckets and queues. Tables are created later with requests.
 */
export async function startEmulators(init: EmulatorsInit): Promise<Emulators> {
  await using stack = new AsyncDisposableStack();
  const listen = async (server: Server) => {
    const listening = stack.use(await listenOnLoopback(server));
    return listening.port;
  };
  const start = async (service: AwsService, server: Server) => {
    const port = await listen(server);
    const { intercept, onInterceptError: onError = () => undefined } = init;
    if (intercept === undefined) return { port, directPort: port };
    const front = createInterceptingServer({ service, port, intercept, onError });
    return { port: await listen(front), directPort: port };
  };

  const dynamo = await start('dynamodb', finishRequestsBeforeClose(dynalite({ createTableMs: 0 })));

  const { service, requestHandler } = createRequestHandler({
    port: 0,
    hostname: '127.0.0.1',
    region: init.region,
    // A queue may be listed before its dead-letter queue.
    validateDlqDestination: false,
    queues: init.queues.map(toInitialQueue),
  });
  stack.defer(() => service.resetAll());
  for (const queue of service.Queues) patchEmulatedQueue(queue);
  const sqs = await start('sqs', createServer(patchAttributeNames(requestHandler)));
  service.PORT = sqs.port;

  const emulatedS3 = createS3(init.bucketNames);
  stack.defer(emulatedS3.close);
  const s3 = await start('s3', createServer(emulatedS3.answer));

  const urlsOf = (kind: 'port' | 'directPort'): Addresses => ({
    dynamoUrl: `http://127.0.0.1:${dynamo[kind]}`,
    sqsUrl: `http://127.0.0.1:${sqs[kind]}`,
    s3Url: `http://127.0.0.1:${s3[kind]}`,
  });
  const owned = stack.move();
  return {
    region: init.region,
    credentials,
    ...urlsOf('port'),
    direct: urlsOf('directPort'),
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
      // The emulator does not support AbortMultipartUpload, the only one of our requests it lacks.
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
