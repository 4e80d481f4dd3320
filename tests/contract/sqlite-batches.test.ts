import { FakeClock } from '../support/fake-clock.ts';
import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeBatchesContract } from './batches-contract.ts';

describeBatchesContract('SQLite on file, two connections', async () => {
  const folder = await temporaryFolder();
  const clock = new FakeClock();
  const stores = openLocalStores(folder.resolve('thrice.db'), clock);
  const others = openLocalStores(folder.resolve('thrice.db'), clock);
  return {
    batches: stores.batches,
    other: others.batches,
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});
