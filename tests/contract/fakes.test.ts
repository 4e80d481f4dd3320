import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { FakeTaskQueue } from '../support/fake-task-queue.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';
import { describeLedgerContract } from './ledger-contract.ts';
import { describeTaskQueueContract } from './task-queue-contract.ts';

// The unit tests of the use cases stand on these fakes: they must promise what the real ones do.
const nothingToRelease = { [Symbol.asyncDispose]: () => Promise.resolve() };

describeLedgerContract('in memory', (clock) => {
  const ledger = new FakeLedger(clock);
  return Promise.resolve({ ledger, other: ledger, ...nothingToRelease });
});

describeTaskQueueContract('in memory', (clock) => {
  const queue = new FakeTaskQueue(clock);
  return Promise.resolve({ queue, other: queue, ...nothingToRelease });
});

describeBlobStoreContract('in memory', () => {
  const blobs = new FakeBlobStore();
  return Promise.resolve({ blobs, other: blobs, ...nothingToRelease });
});
