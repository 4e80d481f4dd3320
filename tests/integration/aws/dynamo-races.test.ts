import { DynamoLedger, DynamoNotifications, DynamoWorkLeases } from '@thrice/aws';
import { limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aGroupHeader, aNotification, anEditedHeader } from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  type AnswerRequest,
  interceptRequests,
  loseAnswer,
  type SentRequest,
} from '../../support/sdk-faults.ts';
import { useDynamo } from '../../support/use-dynamo.ts';

const dynamo = useDynamo();

const work = { group: 'demo', work: 'results' };
const key = aCellKey();
const header = aGroupHeader();
const notification = aNotification();

/** The stores of a process on a table. */
interface Stores {
  readonly workLeases: DynamoWorkLeases;
  readonly notifications: DynamoNotifications;
  readonly ledger: DynamoLedger;
}

async function openStores(answer?: AnswerRequest) {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const clock = new FakeClock();
  const blobs = new FakeBlobStore();
  const open = (own: typeof client): Stores => {
    const init = { client: own, tableName, clock, random: () => 0, blobs };
    return {
      workLeases: new DynamoWorkLeases(init),
      notifications: new DynamoNotifications(init),
      ledger: new DynamoLedger(init),
    };
  };
  return {
    ...{ clock, own: open(client), other: open(otherClient) },
    sent: interceptRequests(client, answer),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}

/** What a process does in several requests, or may do twice, and what others see of it. */
interface Act {
  readonly name: string;
  readonly before?: (others: Stores, clock: FakeClock) => Promise<unknown>;
  readonly act: (own: Stores) => Promise<unknown>;
}

const edited = anEditedHeader();
const claimThenExpire: Act['before'] = async ({ workLeases }, clock) => {
  await workLeases.claim(work, 'another', 'message-2');
  await workLeases.save(work, 'another', 'checkpoint');
  clock.advance(limits.leaseMs);
};
const claimOwn: Act['before'] = async ({ workLeases }) =>
  await workLeases.claim(work, 'own', 'message-1');

const acts: readonly Act[] = [
  {
    name: 'claims work that is new',
    act: ({ workLeases }) => workLeases.claim(work, 'own', 'message-1'),
  },
  {
    name: 'claims work whose lease has ended',
    before: claimThenExpire,
    act: ({ workLeases }) => workLeases.claim(work, 'own', 'message-1'),
  },
  {
    name: 'extends its lease',
    before: claimOwn,
    act: ({ workLeases }) => workLeases.extend(work, 'own', 90_000),
  },
  {
    name: 'saves a checkpoint',
    before: claimOwn,
    act: ({ workLeases }) => workLeases.save(work, 'own', 'checkpoint'),
  },
  {
    name: 'releases its part',
    before: claimOwn,
    act: ({ workLeases }) => workLeases.release(work, 'own'),
  },
  { name: 'ends its work', before: claimOwn, act: ({ workLeases }) => workLeases.end(work, 'own') },
  {
    name: 'records a notification',
    // Whether it was the first to do so, nobody in a stage asks.
    act: async ({ notifications }) => void (await notifications.record(notification)),
  },
  {
    name: 'settles a notification',
    before: ({ notifications }) => notifications.record(notification),
    act: ({ notifications }) => notifications.settle(notification),
  },
  {
    name: 'replaces a header',
    before: ({ ledger }) => ledger.createGroup(header),
    act: ({ ledger }) => ledger.replaceHeader(header, edited),
  },
  {
    name: 'marks a group planned',
    before: ({ ledger }) => ledger.createGroup(header),
    act: ({ ledger }) => ledger.markPlanned(header),
  },
];

/** Does something, and looks at it as another process does. */
async function doAct({ before, act }: Act, answer?: AnswerRequest) {
  await using stores = await openStores(answer);
  const { own, other, clock } = stores;
  await before?.(other, clock);
  const returned = await act(own);
  const seen = {
    claim: await other.workLeases.claim(work, 'next', 'message-3'),
    unsent: await other.notifications.listUnsent(),
    isRecorded: !(await other.notifications.record(notification)),
    group: await other.ledger.readGroup(header.group),
    cell: await other.ledger.claimCell(key, 0, 'next'),
  };
  return { returned, seen, writes: stores.sent.filter(isWrite) };
}

const isWrite = ({ operation }: SentRequest) =>
  ['DeleteItem', 'PutItem', 'UpdateItem'].includes(operation);

describe('a process that loses the response to a write', () => {
  it.each(acts)('sees the same, as do others, when it $name', async (act) => {
    const { writes, ...untroubled } = await doAct(act);
    expect(writes.length).toBeGreaterThan(0);

    for (const { operation, index } of writes) {
      const lossy = await doAct(act, async (sent, send) =>
        sent.operation === operation && sent.index === index
          ? await loseAnswer(() => send())
          : await send(),
      );

      expect({ returned: lossy.returned, seen: lossy.seen }).toEqual(untroubled);
    }
  });
});

/** What another process does just before a write, and what comes of it. */
interface Race extends Act {
  readonly meanwhile: (others: Stores) => Promise<unknown>;
  readonly returned: unknown;
  readonly seen: object;
}

const races: readonly Race[] = [
  {
    name: 'claims work that another claims',
    act: ({ workLeases }) => workLeases.claim(work, 'own', 'message-1'),
    meanwhile: ({ workLeases }) => workLeases.claim(work, 'another', 'message-2'),
    returned: { kind: 'held', requestId: 'message-2', failureCount: 0, leaseMs: limits.leaseMs },
    seen: { claim: { kind: 'held', requestId: 'message-2' } },
  },
  {
    name: 'claims work whose owner comes back',
    before: claimThenExpire,
    act: ({ workLeases }) => workLeases.claim(work, 'own', 'message-1'),
    meanwhile: ({ workLeases }) => workLeases.extend(work, 'another', limits.leaseMs),
    returned: { kind: 'held', requestId: 'message-2', failureCount: 0, leaseMs: limits.leaseMs },
    seen: { claim: { kind: 'held', requestId: 'message-2' } },
  },
  {
    name: 'releases a cell that another takes over',
    before: async ({ ledger }, clock) => {
      await ledger.claimCell(key, 0, 'own');
      clock.advance(limits.leaseMs);
    },
    act: ({ ledger }) => ledger.releaseCell(key, 'own', [], 0),
    meanwhile: ({ ledger }) => ledger.claimCell(key, 0, 'another'),
    returned: undefined,
    seen: { cell: { kind: 'held' } },
  },
  {
    name: 'records a notification that another has recorded and sent',
    act: ({ notifications }) => notifications.record(notification),
    meanwhile: async ({ notifications }) => {
      await notifications.record(notification);
      await notifications.settle(notification);
    },
    returned: false,
    seen: { unsent: [], isRecorded: true },
  },
  {
    name: 'marks a group planned that another edits',
    before: ({ ledger }) => ledger.createGroup(header),
    act: ({ ledger }) => ledger.markPlanned(header),
    meanwhile: ({ ledger }) => ledger.replaceHeader(header, edited),
    returned: undefined,
    seen: { group: { header: edited, isPlanned: false } },
  },
];

describe('a process that is not alone', () => {
  it.each(races)('$name', async ({ meanwhile, returned, seen, ...act }) => {
    const { promise: opened, resolve } = Promise.withResolvers<Stores>();
    let isFirst = true;
    const before: Act['before'] = async (others, clock) => {
      await act.before?.(others, clock);
      resolve(others);
    };
    const raced = await doAct({ ...act, before }, async (sent, send) => {
      if (isFirst && isWrite(sent)) {
        isFirst = false;
        await meanwhile(await opened);
      }
      return await send();
    });

    expect(raced.returned).toEqual(returned);
    expect(raced.seen).toMatchObject(seen);
  });
});
