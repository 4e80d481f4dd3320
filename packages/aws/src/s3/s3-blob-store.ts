import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { type BlobStore, ThriceError } from '@thrice/core';
import { isNamed, mapSdkError } from '../map-sdk-error.ts';

/**
 * Texts up to this size are sent in one request, longer ones in parts of this size. S3 requires parts of
 * at least 5 MiB and accepts up to 10,000 of them.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html (2026-11)
 */
const PART_BYTES = 8 * 1024 * 1024;
/** The metadata key that identifies the `write` call that created an object. */
const WRITE_TOKEN = 'thrice-write';

/**
 * Blobs as objects of one S3 bucket.
 *
 * S3 makes an object visible only when it is complete, and then to all readers. The credentials need
 * `ListBucket`: without it, S3 answers "forbidden" for an object that does not exist.
 */
export class S3BlobStore implements BlobStore {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(init: { readonly client: S3Client; readonly bucket: string }) {
    this.#client = init.client;
    this.#bucket = init.bucket;
  }

  async write(key: string, chunks: AsyncIterable<string> | Iterable<string>): Promise<void> {
    const target = this.#target(key);
    const parts = partsOf(chunks);
    const { value: first = Buffer.alloc(0) } = await parts.next();
    const { value: second } = await parts.next();
    if (second === undefined) {
      const put = new PutObjectCommand({ ...target, Body: first });
      await this.#guard(key, () => this.#client.send(put));
    } else {
      await this.#upload(key, prepend([first, second], parts));
    }
  }

  async #upload(key: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const target = this.#target(key);
    const token = randomUUID();
    const { UploadId } = await this.#guard(key, () =>
      this.#client.send(
        new CreateMultipartUploadCommand({ ...target, Metadata: { [WRITE_TOKEN]: token } }),
      ),
    );
    try {
      const Parts: CompletedPart[] = [];
      for await (const Body of parts) {
        const PartNumber = Parts.length + 1;
        const { ETag } = await this.#guard(key, () =>
          this.#client.send(new UploadPartCommand({ ...target, UploadId, PartNumber, Body })),
        );
        Parts.push({ PartNumber, ETag });
      }
      await this.#complete(key, token, { UploadId, MultipartUpload: { Parts } });
    } catch (error) {
      // S3 stores and bills the parts of an unfinished upload. An error of the abort itself is ignored.
      await this.#client
        .send(new AbortMultipartUploadCommand({ ...target, UploadId }))
        .catch(() => undefined);
      throw error;
    }
  }

  async #complete(
    key: string,
    token: string,
    upload: Pick<CompleteMultipartUploadCommandInput, 'UploadId' | 'MultipartUpload'>,
  ): Promise<void> {
    const target = this.#target(key);
    await this.#guard(key, async () => {
      try {
        await this.#client.send(new CompleteMultipartUploadCommand({ ...target, ...upload }));
      } catch (error) {
        // If the first response was lost, the SDK's retry no longer finds the upload.
        if (!isNamed(error, 'NoSuchUpload')) throw error;
        const { Metadata } = await this.#client.send(new HeadObjectCommand(target));
        if (Metadata?.[WRITE_TOKEN] !== token) throw error;
      }
    });
  }

  async readText(key: string): Promise<string | undefined> {
    return await this.#guard(key, async () => {
      const body = await this.#open(key);
      return body === undefined ? undefined : await readText(body);
    });
  }

  async *readLines(key: string): AsyncIterable<string> {
    try {
      const body = await this.#open(key);
      if (body !== undefined) yield* linesOf(body);
    } catch (error) {
      throw mapSdkError(error, this.#storeOf(key));
    }
  }

  async readRange(key: string, offsetBytes: number, lengthBytes: number): Promise<string> {
    const target = this.#target(key);
    const Range = `bytes=${offsetBytes}-${offsetBytes + lengthBytes - 1}`;
    const buffer = await this.#guard(key, async () => {
      try {
        const { Body } = await this.#client.send(new GetObjectCommand({ ...target, Range }));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      } catch (error) {
        if (isNamed(error, 'NoSuchKey', 'InvalidRange')) return Buffer.alloc(0);
        throw error;
      }
    });
    if (buffer.length === lengthBytes) return buffer.toString('utf8');
    throw new ThriceError({
      code: 'store-unusable',
      message: `${this.#storeOf(key)}: expected ${lengthBytes} bytes at ${offsetBytes}, received ${buffer.length}; the object is missing or damaged`,
    });
  }

  async has(key: string): Promise<boolean> {
    const target = this.#target(key);
    return await this.#guard(key, async () => {
      try {
        await this.#client.send(new HeadObjectCommand(target));
        return true;
      } catch (error) {
        if (isNamed(error, 'NotFound', 'NoSuchKey')) return false;
        throw error;
      }
    });
  }

  async #open(key: string): Promise<Readable | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(this.#target(key)));
      return Body as Readable | undefined;
    } catch (error) {
      if (isNamed(error, 'NoSuchKey')) return undefined;
      throw error;
    }
  }

  #target(key: string): { readonly Bucket: string; readonly Key: string } {
    if (key.split('/').some((part) => part === '' || part === '.' || part === '..')) {
      throw new ThriceError({ code: 'invariant-violated', message: `unsafe blob key "${key}"` });
    }
    return { Bucket: this.#bucket, Key: key };
  }

  async #guard<T>(key: string, send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw mapSdkError(error, this.#storeOf(key));
    }
  }

  #storeOf(key: string): string {
    return `s3://${this.#bucket}/${key}`;
  }
}

/** Combines chunks into parts of {@link PART_BYTES} and a remainder. */
async function* partsOf(
  chunks: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Buffer, undefined> {
  let buffered: Buffer[] = [];
  let bufferedBytes = 0;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk, 'utf8');
    buffered.push(bytes);
    bufferedBytes += bytes.length;
    if (bufferedBytes < PART_BYTES) continue;
    const all = Buffer.concat(buffered, bufferedBytes);
    let start = 0;
    for (; start + PART_BYTES <= all.length; start += PART_BYTES) {
      yield all.subarray(start, start + PART_BYTES);
    }
    buffered = [all.subarray(start)];
    bufferedBytes = all.length - start;
  }
  if (bufferedBytes > 0) yield Buffer.concat(buffered, bufferedBytes);
}

async function* prepend<T>(first: readonly T[], rest: AsyncIterable<T>): AsyncIterable<T> {
  yield* first;
  yield* rest;
}

async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Splits lines at `\n` and `\r\n` only: JSON text may contain other Unicode line separators. */
async function* linesOf(body: Readable): AsyncIterable<string> {
  body.setEncoding('utf8');
  let rest = '';
  for await (const chunk of body as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
  if (rest !== '') yield rest;
}
