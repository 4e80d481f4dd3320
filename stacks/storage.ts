import { isProduction, nameInStage } from './stage.ts';

export interface Storage {
  readonly table: sst.aws.Dynamo;
  readonly bucket: sst.aws.Bucket;
}

/** The ledger's table and the bucket of questions, results and large payloads. */
export function createStorage(): Storage {
  return { table: createTable(), bucket: createBucket() };
}

/**
 * On demand, encrypted with a key AWS owns, recoverable to any second of 35 days: SST's defaults.
 *
 * Its name is fixed so that the CLI finds it from the stage alone, see `directory.ts`.
 */
function createTable(): sst.aws.Dynamo {
  return new sst.aws.Dynamo('Ledger', {
    fields: { pk: 'string', sk: 'string' },
    primaryIndex: { hashKey: 'pk', rangeKey: 'sk' },
    ttl: 'expiresAt',
    deletionProtection: isProduction(),
    transform: {
      table(args, options) {
        args.name = nameInStage('ledger');
        options.protect = isProduction();
        return undefined;
      },
    },
  });
}

/** Private, over HTTPS only. In production nothing in it is ever lost to an overwrite or a removal. */
function createBucket(): sst.aws.Bucket {
  const bucket = new sst.aws.Bucket('Blobs', {
    cors: false,
    versioning: isProduction(),
    transform: {
      bucket(args, options) {
        args.forceDestroy = !isProduction();
        options.protect = isProduction();
        return undefined;
      },
    },
  });
  new aws.s3.BucketServerSideEncryptionConfiguration('BlobsEncryption', {
    bucket: bucket.name,
    rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: 'AES256' } }],
  });
  new aws.s3.BucketLifecycleConfiguration('BlobsLifecycle', {
    bucket: bucket.name,
    rules: [
      {
        id: 'drop-unfinished-uploads',
        status: 'Enabled',
        filter: { prefix: '' },
        abortIncompleteMultipartUpload: { daysAfterInitiation: 2 },
      },
      // Progress and summaries are replaced often: their old versions are kept for accidents only.
      {
        id: 'drop-replaced-versions',
        status: 'Enabled',
        filter: { prefix: '' },
        noncurrentVersionExpiration: { noncurrentDays: 30 },
      },
    ],
  });
  return bucket;
}
