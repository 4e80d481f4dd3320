import { S3BlobStore } from '@thrice/aws';
import { openBucket } from '../support/aws-emulators.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';

describeBlobStoreContract('S3, emulated', async () => {
  const { bucket, client, otherClient, ...emulated } = await openBucket();
  return {
    blobs: new S3BlobStore({ client, bucket }),
    other: new S3BlobStore({ client: otherClient, bucket }),
    [Symbol.asyncDispose]: () => emulated[Symbol.asyncDispose](),
  };
});
