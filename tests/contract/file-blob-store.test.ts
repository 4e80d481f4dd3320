import { FileBlobStore } from '@thrice/local';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';

describeBlobStoreContract('files', async () => {
  const folder = await temporaryFolder();
  const blobs = new FileBlobStore(folder.path);
  const other = new FileBlobStore(folder.path);
  return {
    blobs,
    other,
    [Symbol.asyncDispose]: async () => {
      blobs[Symbol.dispose]();
      other[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});
