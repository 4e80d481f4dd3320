import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeDeadLetters } from '../support/fake-dead-letters.ts';
import { FakeGroupRequests } from '../support/fake-group-requests.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { FakeTaskCounter } from '../support/fake-task-counter.ts';
import { FakeTaskQueue } from '../support/fake-task-queue.ts';
import { FakeWatchlist } from '../support/fake-watchlist.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';
import { describeDeadLettersContract } from './dead-letters-contract.ts';
import { describeGroupRequestsContract } from './group-requests-contract.ts';
import { describeLedgerContract } from './ledger-contract.ts';
import { describeTaskCounterContract } from './task-counter-contract.ts';
import { describeTaskQueueContract } from './task-queue-contract.ts';
import { describeWatchlistContract } from './watchlist-contract.ts';

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

describeWatchlistContract('in memory', () => {
  const watchlist = new FakeWatchlist();
  return Promise.resolve({ watchlist, other: watchlist, ...nothingToRelease });
});

describeGroupRequestsContract('in memory', () => {
  const requests = new FakeGroupRequests();
  return Promise.resolve({
    requests,
    other: requests,
    take: (kind) => Promise.resolve(requests[kind]),
    finish: () => Promise.resolve(requests.serveAll('tasks')),
    ...nothingToRelease,
  });
});

describeDeadLettersContract('in memory', () => {
  const deadLetters = new FakeDeadLetters();
  return Promise.resolve({
    deadLetters,
    read: () => Promise.resolve(deadLetters.sent),
    ...nothingToRelease,
  });
});

describeTaskCounterContract('in memory', () => {
  const queue = new FakeTaskQueue(new FakeClock());
  return Promise.resolve({ queue, counter: new FakeTaskCounter(queue), ...nothingToRelease });
});
