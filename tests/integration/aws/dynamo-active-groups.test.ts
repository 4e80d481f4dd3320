import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { DynamoActiveGroups } from '@thrice/aws';
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

interface ActiveGroupsOnTable extends AsyncDisposable {
  readonly activeGroups: DynamoActiveGroups;
  /** The same table without faults. */
  readonly other: DynamoActiveGroups;
  /** Sort keys of all items below their partition keys. */
  keys(): Promise<readonly string[]>;
}

async function openActiveGroups(answer?: AnswerRequest): Promise<ActiveGroupsOnTable> {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const init = { tableName, clock: new FakeClock(), random: () => 0 };
  standBetween(client, answer);
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

/** Loses the first answer of an operation. */
function losing(operation: string): AnswerRequest {
  return async (sent, send) =>
    sent.operation === operation && sent.index === 0
      ? await loseAnswer(() => send())
      : await send();
}

describe('DynamoActiveGroups', () => {
  it('has its items where the format says', async () => {
    await using store = await openActiveGroups();

    await store.activeGroups.add('demo');
    await store.activeGroups.defer('lab/m', 'demo');

    expect(await store.keys()).toEqual(['active-groups / demo', 'deferred / demo#lab/m']);
  });

  it('watches and defers once though the answer was lost', async () => {
    await using store = await openActiveGroups(losing('PutItem'));

    await store.activeGroups.add('demo');
    await store.activeGroups.defer('lab', 'demo');

    expect(await store.other.list()).toHaveLength(1);
    expect(await store.other.listDeferred()).toHaveLength(1);
  });

  it('unwatches though the answer was lost, and not what was watched anew meanwhile', async () => {
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
    if (activeGroup === undefined) throw new Error('expected a watched group');

    await store.activeGroups.remove(activeGroup);

    expect((await store.other.list()).map(({ group }) => group)).toEqual(['demo']);
  });

  it('lists several pages', async () => {
    await using store = await openActiveGroups(async ({ operation, input }, send) =>
      operation === 'Query' ? await send({ ...input, Limit: 2 }) : await send(),
    );
    const groups = ['a', 'b', 'c', 'd', 'e'];
    for (const group of groups) {
      await store.other.add(group);
      await store.other.defer('lab', group);
    }

    const activeGroup = await store.activeGroups.list();
    const deferred = await store.activeGroups.listDeferred();

    expect(activeGroup.map(({ group }) => group)).toEqual(groups);
    expect(deferred.map(({ group }) => group)).toEqual(groups);
  });

  it.each([
    ['watch', 'PutItem', ({ activeGroups }: ActiveGroupsOnTable) => activeGroups.add('demo')],
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
  ] as const)('does not %s what the table refuses', async (_, operation, act) => {
    await using store = await openActiveGroups(async (sent, send) =>
      sent.operation === operation ? jsonError(400, 'AccessDeniedException') : await send(),
    );

    await expect(act(store)).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
