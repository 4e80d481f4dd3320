import { SqliteNotifications } from '../../packages/local/src/store/sqlite-notifications.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeNotificationsContract } from './notifications-contract.ts';

describeNotificationsContract('SQLite on file, two connections', async () => {
  const folder = await temporaryFolder();
  const clock = new FakeClock();
  const [stores, others] = [0, 1].map(() => openLocalStores(folder.resolve('thrice.db'), clock));
  if (stores === undefined || others === undefined) throw new Error('expected two connections');
  return {
    notifications: new SqliteNotifications(stores.database, stores.commit),
    other: new SqliteNotifications(others.database, others.commit),
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});
