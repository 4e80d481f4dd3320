import { FakeActiveGroups } from '../support/fake-active-groups.ts';
import { FakeBatches } from '../support/fake-batches.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeBudgets } from '../support/fake-budgets.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeDeadLetterQueue } from '../support/fake-dead-letter-queue.ts';
import { FakeGroupRequests } from '../support/fake-group-requests.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { FakeNotifications } from '../support/fake-notifications.ts';
import { FakeResendNotes } from '../support/fake-resend-notes.ts';
import { FakeTaskCounter } from '../support/fake-task-counter.ts';
import { FakeTaskQueue } from '../support/fake-task-queue.ts';
import { FakeWorkLeases } from '../support/fake-work-leases.ts';
import { describeActiveGroupsContract } from './active-groups-contract.ts';
import { describeBatchesContract } from './batches-contract.ts';
import { describeBlobStoreContract } from './blob-store-contract.ts';
import { describeBudgetsContract } from './budgets-contract.ts';
import { describeCallConditionsContract } from './call-conditions-contract.ts';
import { describeDeadLetterQueueContract } from './dead-letter-queue-contract.ts';
import { describeGroupRequestsContract } from './group-requests-contract.ts';
import { describeLedgerContract } from './ledger-contract.ts';
import { describeNotificationsContract } from './notifications-contract.ts';
import { describeResendNotesContract } from './resend-notes-contract.ts';
import { describeTaskCounterContract } from './task-counter-contract.ts';
import { describeTaskQueueContract } from './task-queue-contract.ts';
import { describeWorkLeasesContract } from './work-leases-contract.ts';

// Unit tests rely on these fakes, so the fakes must keep the same promises as the real adapters.
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

describeBatchesContract('in memory', () => {
  const batches = new FakeBatches();
  return Promise.resolve({ batches, other: batches, ...nothingToRelease });
});

describeBudgetsContract('in memory', (clock) => {
  const ledger = new FakeLedger(clock);
  const budgets = new FakeBudgets(ledger, clock);
  return Promise.resolve({ budgets, other: budgets, ledger, ...nothingToRelease });
});

describeActiveGroupsContract('in memory', () => {
  const activeGroups = new FakeActiveGroups();
  return Promise.resolve({ activeGroups, other: activeGroups, ...nothingToRelease });
});

describeNotificationsContract('in memory', () => {
  const notifications = new FakeNotifications();
  return Promise.resolve({ notifications, other: notifications, ...nothingToRelease });
});

describeResendNotesContract('in memory', () => {
  const notes = new FakeResendNotes();
  return Promise.resolve({ notes, other: notes, ...nothingToRelease });
});

describeCallConditionsContract('in memory', () => {
  const ledger = new FakeLedger(new FakeClock());
  const { laneStates } = ledger;
  return Promise.resolve({ conditions: ledger, ledger, laneStates, ...nothingToRelease });
});

describeGroupRequestsContract('in memory', () => {
  const requests = new FakeGroupRequests();
  return Promise.resolve({
    requests,
    other: requests,
    receive: (kind) => Promise.resolve(requests[kind]),
    finish: () => Promise.resolve(requests.serveAll('tasks')),
    ...nothingToRelease,
  });
});

describeDeadLetterQueueContract('in memory', () => {
  const deadLetterQueue = new FakeDeadLetterQueue();
  return Promise.resolve({
    deadLetterQueue,
    read: () => Promise.resolve(deadLetterQueue.sent),
    ...nothingToRelease,
  });
});

describeWorkLeasesContract('in memory', (clock) => {
  const workLeases = new FakeWorkLeases(clock);
  return Promise.resolve({ workLeases, other: workLeases, ...nothingToRelease });
});

describeTaskCounterContract('in memory', () => {
  const queue = new FakeTaskQueue(new FakeClock());
  return Promise.resolve({ queue, counter: new FakeTaskCounter(queue), ...nothingToRelease });
});
