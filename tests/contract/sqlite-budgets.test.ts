import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeBudgetsContract } from './budgets-contract.ts';

describeBudgetsContract('SQLite on file, two connections', async (clock) => {
  const folder = await temporaryFolder();
  const stores = openLocalStores(folder.resolve('thrice.db'), clock);
  const others = openLocalStores(folder.resolve('thrice.db'), clock);
  return {
    budgets: stores.budgets,
    other: others.budgets,
    ledger: stores.ledger,
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});
