import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { DynamoActiveGroups } from '@thrice/aws';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  type AnswerRequest,
  interceptRequests,
  jsonError,
  loseAnswer,
} from '../../support/sdk-faults.ts';
import { useDynamo } from '../../support/use-dynamo.ts';

const dynamo = useDynamo();

interface ActiveGroupsOnTable extends AsyncDisposable {
  readonly activeGroups: DynamoActiveGroups;
  /** The same table, accessed without faults. */
  readonly other: DynamoActiveGroups;
  /** The keys of all items, as `<partition key> / <sort key>`. */
  keys(): Promise<readonly string[]>;
}

async function openActiveGroups(answer?: AnswerRequest): Promise<ActiveGroupsOnTable> {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const init = { tableName, clock: new FakeClock(), random: () => 0 };
  interceptRequests(client, answer);
  return {
    activeGroups: new DynamoActiveGroups({ ...init, client }),
    other: new DynamoActiveGroups({ ...init, client: otherClient }),
    keys: async () => {
      const { Items = [] } = await otherClient.send(new ScanCommand({ TableName: tableName }));
      return Items.map(({ pk, sk }) => `${pk?.S} / ${sk?.S}`).toSorted();
    },
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}

/** Loses the first response of an operation. */
function loseFirstAnswer(operation: string): AnswerRequest {
  return async (sent, send) =>
    sent.operation === operation && sent.index === 0
      ? await loseAnswer(() => send())
      : await send();
}

describe('DynamoActiveGroups', () => {
  it('stores items under the documented keys', async () => {
    await using store = await openActiveGroups();

    await store.activeGroups.add('demo');
    await store.activeGroups.defer('lab/m', 'demo');

    expect(await store.keys()).toEqual(['active-groups / demo', 'deferred / demo#lab/m']);
  });

  it('adds and defers once when the response is lost', async () => {
    await using store = await openActiveGroups(loseFirstAnswer('PutItem'));

    await store.activeGroups.add('demo');
    await store.activeGroups.defer('lab', 'demo');

    expect(await store.other.list()).toHaveLength(1);
    expect(await store.other.listDeferred()).toHaveLength(1);
  });

  it('removes a group when the response is lost, but not if it was added again in the meantime', async () => {
    await using store = await openActiveGroups(async (sent, send) => {
      if (sent.operation !== 'DeleteItem' || sent.index > 0) return await send();
      return await loseAnswer(async () => {
        const answer = await send();
        await store.other.add('demo');
        return answer;
      });
    });
    await store.other.add('demo');
    const [activeGroup] = await store.activeGroups.list();
    if (activeGroup === undefined) throw new Error('expected an active group');

    await store.activeGroups.remove(activeGroup);

    expect((await store.other.list()).map(({ group }) => group)).toEqual(['demo']);
  });

  it('lists multiple pages', async () => {
    await using store = await openActiveGroups(async ({ operation, input }, send) =>
      operation === 'Query' ? await send({ ...input, Limit: 2 }) : await send(),
    );
    const groups = ['a', 'b', 'c', 'd', 'e'];
    for (const group of groups) {
      await store.other.add(group);
      await store.other.defer('lab', group);
    }

    const activeGroups = await store.activeGroups.list();
    const deferred = await store.activeGroups.listDeferred();

    expect(activeGroups.map(({ group }) => group)).toEqual(groups);
    expect(deferred.map(({ group }) => group)).toEqual(groups);
  });

  it.each([
    ['add', 'PutItem', ({ activeGroups }: ActiveGroupsOnTable) => activeGroups.add('demo')],
    [
      'defer',
      'PutItem',
      ({ activeGroups }: ActiveGroupsOnTable) => activeGroups.defer('lab', 'demo'),
    ],
    ['list', 'Query', ({ activeGroups }: ActiveGroupsOnTable) => activeGroups.list()],
    [
      'remove',
      'DeleteItem',
      ({ activeGroups }: ActiveGroupsOnTable) => activeGroups.remove({ group: 'demo', token: 't' }),
    ],
  ] as const)('%s fails when the table refuses the request', async (_, operation, act) => {
    await using store = await openActiveGroups(async (sent, send) =>
      sent.operation === operation ? jsonError(400, 'AccessDeniedException') : await send(),
    );

    await expect(act(store)).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
