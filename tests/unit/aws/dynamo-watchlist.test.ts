import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { DynamoWatchlist } from '@thrice/aws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../../support/aws-emulators.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  type AnswerRequest,
  jsonError,
  loseAnswer,
  standBetween,
} from '../../support/sdk-faults.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

interface WatchlistOnTable extends AsyncDisposable {
  readonly watchlist: DynamoWatchlist;
  /** The same table without faults. */
  readonly other: DynamoWatchlist;
  /** Sort keys of all items below their partition keys. */
  keys(): Promise<readonly string[]>;
}

async function openWatchlist(answer?: AnswerRequest): Promise<WatchlistOnTable> {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const init = { tableName, clock: new FakeClock(), random: () => 0 };
  standBetween(client, answer);
  return {
    watchlist: new DynamoWatchlist({ ...init, client }),
    other: new DynamoWatchlist({ ...init, client: otherClient }),
    keys: async () => {
      const { Items = [] } = await otherClient.send(new ScanCommand({ TableName: tableName }));
      return Items.map(({ pk, sk }) => `${pk?.S} / ${sk?.S}`).toSorted();
    },
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}

/** Loses the first answer of an operation. */
function losing(operation: string): AnswerRequest {
  return async (sent, send) =>
    sent.operation === operation && sent.index === 0
      ? await loseAnswer(() => send())
      : await send();
}

describe('DynamoWatchlist', () => {
  it('has its items where the format says', async () => {
    await using store = await openWatchlist();

    await store.watchlist.watch('demo');
    await store.watchlist.park('lab/m', 'demo');

    expect(await store.keys()).toEqual(['parked / demo#lab/m', 'watched / demo']);
  });

  it('watches and parks once though the answer was lost', async () => {
    await using store = await openWatchlist(losing('PutItem'));

    await store.watchlist.watch('demo');
    await store.watchlist.park('lab', 'demo');

    expect(await store.other.listWatched()).toHaveLength(1);
    expect(await store.other.listParked()).toHaveLength(1);
  });

  it('unwatches though the answer was lost, and not what was watched anew meanwhile', async () => {
    await using store = await openWatchlist(async (sent, send) => {
      if (sent.operation !== 'DeleteItem' || sent.index > 0) return await send();
      return await loseAnswer(async () => {
        const answer = await send();
        await store.other.watch('demo');
        return answer;
      });
    });
    await store.other.watch('demo');
    const [watched] = await store.watchlist.listWatched();
    if (watched === undefined) throw new Error('expected a watched group');

    await store.watchlist.unwatch(watched);

    expect((await store.other.listWatched()).map(({ group }) => group)).toEqual(['demo']);
  });

  it('lists several pages', async () => {
    await using store = await openWatchlist(async ({ operation, input }, send) =>
      operation === 'Query' ? await send({ ...input, Limit: 2 }) : await send(),
    );
    const groups = ['a', 'b', 'c', 'd', 'e'];
    for (const group of groups) {
      await store.other.watch(group);
      await store.other.park('lab', group);
    }

    const watched = await store.watchlist.listWatched();
    const parked = await store.watchlist.listParked();

    expect(watched.map(({ group }) => group)).toEqual(groups);
    expect(parked.map(({ group }) => group)).toEqual(groups);
  });

  it.each([
    ['watch', 'PutItem', ({ watchlist }: WatchlistOnTable) => watchlist.watch('demo')],
    ['park', 'PutItem', ({ watchlist }: WatchlistOnTable) => watchlist.park('lab', 'demo')],
    ['list', 'Query', ({ watchlist }: WatchlistOnTable) => watchlist.listWatched()],
    [
      'unwatch',
      'DeleteItem',
      ({ watchlist }: WatchlistOnTable) => watchlist.unwatch({ group: 'demo', token: 't' }),
    ],
  ] as const)('does not %s what the table refuses', async (_, operation, act) => {
    await using store = await openWatchlist(async (sent, send) =>
      sent.operation === operation ? jsonError(400, 'AccessDeniedException') : await send(),
    );

    await expect(act(store)).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
