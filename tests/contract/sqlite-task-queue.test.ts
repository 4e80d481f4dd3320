import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeTaskQueueContract } from './task-queue-contract.ts';

describeTaskQueueContract('SQLite in memory', async (clock) => {
  const stores = openLocalStores(':memory:', clock);
  return {
    queue: stores.queueOf('ann'),
    other: stores.queueOf('bob'),
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      await Promise.resolve();
    },
  };
});

describeTaskQueueContract('SQLite on file, two connections', async (clock) => {
  const folder = await temporaryFolder();
  const stores = openLocalStores(folder.resolve('thrice.db'), clock);
  const others = openLocalStores(folder.resolve('thrice.db'), clock);
  return {
    queue: stores.queueOf('ann'),
    other: others.queueOf('bob'),
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});
