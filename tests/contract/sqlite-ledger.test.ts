import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeLedgerContract } from './ledger-contract.ts';

describeLedgerContract('SQLite in memory', async (clock) => {
  const stores = openLocalStores(':memory:', clock);
  return {
    ledger: stores.ledger,
    // An in-memory database has only one connection, which both share.
    other: stores.ledger,
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      await Promise.resolve();
    },
  };
});

describeLedgerContract(
  'SQLite on file, two connections',
  async (clock) => {
    const folder = await temporaryFolder();
    const stores = openLocalStores(folder.resolve('thrice.db'), clock);
    const others = openLocalStores(folder.resolve('thrice.db'), clock);
    return {
      ledger: stores.ledger,
      other: others.ledger,
      [Symbol.asyncDispose]: async () => {
        stores[Symbol.dispose]();
        others[Symbol.dispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  },
  10,
);
