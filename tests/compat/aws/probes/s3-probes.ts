import { randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
  type UploadPartCopyCommandInput,
} from '@aws-sdk/client-s3';
import { type Probe, type ProbeAnswer, type ServiceAddress, sendProbes } from './probe.ts';

const REFERENCE = 'https://docs.aws.amazon.com/AmazonS3/latest/API';
const GUIDE = 'https://docs.aws.amazon.com/AmazonS3/latest/userguide';
const COPY = `${REFERENCE}/API_UploadPartCopy.html`;
const COMPLETE = `${REFERENCE}/API_CompleteMultipartUpload.html`;
const MIB = 1_048_576;

interface Bucket {
  readonly client: S3Client;
  /** A client whose key does not fit its name. */
  readonly wrongClient: S3Client;
  readonly Bucket: string;
}

/** Sends the probes of S3 to a bucket. */
export async function probeS3(
  { url, credentials }: ServiceAddress,
  bucket: string,
): Promise<readonly ProbeAnswer[]> {
  const config = { region: 'us-east-1', endpoint: url, credentials, forcePathStyle: true };
  const client = new S3Client(config);
  const wrongClient = new S3Client({
    ...config,
    credentials: { ...credentials, secretAccessKey: 'not-the-secret-of-this-key' },
  });
  const answers = await sendProbes(probes, { client, wrongClient, Bucket: bucket });
  client.destroy();
  wrongClient.destroy();
  return answers;
}

async function put(
  { client, Bucket }: Bucket,
  input: Omit<PutObjectCommandInput, 'Bucket' | 'Key'> & { readonly Key?: string } = {},
): Promise<undefined> {
  await client.send(new PutObjectCommand({ Key: randomUUID(), Body: 'text', ...input, Bucket }));
  return undefined;
}

async function upload({ client, Bucket }: Bucket, sizes: readonly number[]) {
  const target = { Bucket, Key: randomUUID() };
  const ChecksumAlgorithm = 'CRC32';
  const create = new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm });
  const { UploadId } = await client.send(create);
  const parts: CompletedPart[] = [];
  for (const [index, size] of sizes.entries()) {
    const PartNumber = index + 1;
    const Body = Buffer.alloc(size, 'x');
    const { ETag, ChecksumCRC32 } = await client.send(
      new UploadPartCommand({ ...target, UploadId, PartNumber, Body, ChecksumAlgorithm }),
    );
    parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }
  const copy = async (Key: string, input: Partial<UploadPartCopyCommandInput> = {}) => {
    const part = { ...target, UploadId, PartNumber: parts.length + 1 };
    const command = new UploadPartCopyCommand({
      ...part,
      CopySource: `${Bucket}/${Key}`,
      ...input,
    });
    return (await client.send(command)).CopyPartResult;
  };
  const complete = async (Parts: CompletedPart[]): Promise<undefined> => {
    const input = { ...target, UploadId, MultipartUpload: { Parts } };
    await client.send(new CompleteMultipartUploadCommand(input));
    return undefined;
  };
  return { parts, copy, complete };
}

const probes: readonly Probe<Bucket>[] = [
  {
    request: 'completion without the checksums of its parts',
    aws: 'InvalidPart or InvalidRequest',
    source: COMPLETE,
    send: async (bucket) => {
      const { parts, complete } = await upload(bucket, [5 * MIB, 1]);
      const bare = parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag }));
      return await complete(bare).catch((error: Error) => {
        const isExpected = ['InvalidPart', 'InvalidRequest'].includes(error.name);
        return isExpected ? 'InvalidPart or InvalidRequest' : error.name;
      });
    },
  },
  {
    request: 'completion with the wrong checksum of a part',
    aws: 'InvalidPart',
    source: COMPLETE,
    send: async (bucket) => {
      const { parts, complete } = await upload(bucket, [5 * MIB, 1]);
      return await complete(parts.map((part) => ({ ...part, ChecksumCRC32: 'AAAAAA==' })));
    },
  },
  {
    request: 'a part of less than 5 MiB that is not the last',
    aws: 'EntityTooSmall',
    source: COMPLETE,
    send: async (bucket) => {
      const { parts, complete } = await upload(bucket, [MIB, 1]);
      return await complete(parts);
    },
  },
  {
    request: 'completion with parts out of order',
    aws: 'InvalidPartOrder',
    source: COMPLETE,
    send: async (bucket) => {
      const { parts, complete } = await upload(bucket, [5 * MIB, 1]);
      return await complete(parts.toReversed());
    },
  },
  {
    request: 'completion of an upload that is complete',
    aws: 'NoSuchUpload',
    source: COMPLETE,
    send: async (bucket) => {
      const { parts, complete } = await upload(bucket, [1]);
      await complete(parts);
      return await complete(parts);
    },
  },
  {
    request: 'aborting an upload that does not exist',
    aws: 'NoSuchUpload',
    source: `${REFERENCE}/API_AbortMultipartUpload.html`,
    send: async ({ client, Bucket }) => {
      const UploadId = randomUUID();
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'a', UploadId }));
      return undefined;
    },
  },
  {
    request: 'an object with the wrong CRC32',
    aws: 'BadDigest',
    source: `${GUIDE}/checking-object-integrity-upload.html`,
    send: (bucket) => put(bucket, { ChecksumCRC32: 'AAAAAA==' }),
  },
  {
    request: 'the copy of an object as a part',
    aws: 'its ETag and its CRC32',
    source: `${REFERENCE}/API_CopyPartResult.html`,
    send: async (bucket) => {
      const Key = randomUUID();
      await put(bucket, { Key, Body: Buffer.alloc(5 * MIB, 'x') });
      const { copy } = await upload(bucket, []);
      const { ETag, ChecksumCRC32 } = (await copy(Key)) ?? {};
      return ETag !== undefined && ChecksumCRC32 !== undefined
        ? 'its ETag and its CRC32'
        : 'its ETag alone';
    },
  },
  {
    request: 'the copy of a part on condition of another ETag',
    aws: 'PreconditionFailed',
    source: COPY,
    send: async (bucket) => {
      const Key = randomUUID();
      await put(bucket, { Key });
      const { copy } = await upload(bucket, []);
      await copy(Key, { CopySourceIfMatch: '"00000000000000000000000000000000"' });
      return undefined;
    },
  },
  {
    request: 'the copy of an object that does not exist',
    aws: 'NoSuchKey',
    source: COPY,
    send: async (bucket) => {
      const { copy } = await upload(bucket, []);
      await copy(randomUUID());
      return undefined;
    },
  },
  {
    request: 'a put on condition that there is no object, where there is one',
    aws: 'PreconditionFailed',
    source: `${GUIDE}/conditional-writes.html`,
    send: async (bucket) => {
      const Key = randomUUID();
      await put(bucket, { Key });
      return await put(bucket, { Key, IfNoneMatch: '*' });
    },
  },
  {
    request: 'a put on condition of another ETag',
    aws: 'PreconditionFailed',
    source: `${GUIDE}/conditional-writes.html`,
    send: async (bucket) => {
      const Key = randomUUID();
      await put(bucket, { Key });
      return await put(bucket, { Key, IfMatch: '"00000000000000000000000000000000"' });
    },
  },
  {
    request: 'a range beyond the end',
    aws: 'InvalidRange',
    source: `${REFERENCE}/API_GetObject.html`,
    send: async (bucket) => {
      const { client, Bucket } = bucket;
      const Key = randomUUID();
      await put(bucket, { Key });
      await client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=4-5' }));
      return undefined;
    },
  },
  {
    request: 'a key of 1,025 bytes',
    aws: 'KeyTooLongError',
    source: `${GUIDE}/object-keys.html`,
    send: (bucket) => put(bucket, { Key: `${'x'.repeat(200)}/`.repeat(5) + 'x'.repeat(20) }),
  },
  {
    request: 'HeadObject of an object that does not exist',
    aws: 'NotFound',
    source: `${REFERENCE}/API_HeadObject.html`,
    send: async ({ client, Bucket }) => {
      await client.send(new HeadObjectCommand({ Bucket, Key: randomUUID() }));
      return undefined;
    },
  },
  {
    request: 'a bucket that does not exist',
    aws: 'NoSuchBucket',
    source: `${REFERENCE}/ErrorResponses.html`,
    send: (bucket) => put({ ...bucket, Bucket: 'elsewhere' }),
  },
  {
    request: 'a request signed with the wrong secret',
    aws: 'SignatureDoesNotMatch',
    source: `${REFERENCE}/ErrorResponses.html`,
    send: ({ wrongClient, Bucket }) => put({ client: wrongClient, wrongClient, Bucket }),
  },
];
