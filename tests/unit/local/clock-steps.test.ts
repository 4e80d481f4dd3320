import { type Delivery, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellTask } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type LocalStores, openLocalStores } from '../../support/local-stores.ts';

const FORWARD_MS = 120_000;
const BACK_MS = -3_600_000;

function open(): { readonly clock: FakeClock; readonly stores: LocalStores } & Disposable {
  const clock = new FakeClock();
  const stores = openLocalStores(':memory:', clock);
  return { clock, stores, [Symbol.dispose]: () => stores[Symbol.dispose]() };
}

function step(clock: FakeClock, ms: number): void {
  clock.setWallClock(clock.now() + ms);
}

/** Registers this process as a worker, whose leases are then those of a live owner. */
async function registerSelf({ workers }: LocalStores): Promise<string> {
  await workers.register('demo');
  return workers.owner;
}

/** Registers a process that other processes cannot tell to be at work. */
function registerHidden({ database }: LocalStores, own: Readonly<Record<string, string>>): string {
  database
    .prepare(
      "UPDATE workers SET owner = 'hidden', host = coalesce(?, host), pid_started = coalesce(?, pid_started)",
    )
    .run(own['host'] ?? null, own['started'] ?? null);
  return 'hidden';
}

const hiddenOwners = [
  { what: 'of another host', host: 'elsewhere pid:[1]' },
  { what: 'whose pid another process uses now', started: '1' },
  { what: 'whose start is unknown', started: '' },
];

describe('a cell whose lease ends by the clock', () => {
  it('stays with a live owner of this host', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const owner = await registerSelf(stores);
    await stores.ledger.claimCell(aCellKey(), 0, owner);

    step(clock, FORWARD_MS);

    expect(await stores.ledger.claimCell(aCellKey(), 0, 'bob')).toEqual({ kind: 'held' });
    expect(await stores.ledger.claimCell(aCellKey(), 0, owner)).toEqual({ kind: 'held' });
  });

  it.each(hiddenOwners)('goes to another worker if its owner is one $what', async (own) => {
    using opened = open();
    const { clock, stores } = opened;
    await registerSelf(stores);
    await stores.ledger.claimCell(aCellKey(), 0, registerHidden(stores, own));

    step(clock, FORWARD_MS);

    expect(await stores.ledger.claimCell(aCellKey(), 0, 'bob')).toMatchObject({
      kind: 'claimed',
      cell: { attempts: 1 },
    });
  });

  it('goes to another worker if its owner is not registered', async () => {
    using opened = open();
    const { clock, stores } = opened;
    await stores.ledger.claimCell(aCellKey(), 0, 'ann');

    step(clock, FORWARD_MS);

    expect(await stores.ledger.claimCell(aCellKey(), 0, 'bob')).toMatchObject({ kind: 'claimed' });
  });
});

describe('a task whose delay was canceled', () => {
  it('stays visible when the clock is set back afterwards', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const queue = stores.queueOf('demo');
    await queue.send('lab', [aCellTask()]);
    const [received] = await queue.receive('lab', 1);
    if (received !== undefined) await queue.release(received, 60_000);
    await queue.makeVisible('lab');
    step(clock, BACK_MS);

    // The first look notices the step.
    const first = await queue.receive('lab', 1);
    const second = await queue.receive('lab', 1);

    expect([...first, ...second]).toHaveLength(1);
  });
});

describe('a cell whose lease began after what the clock says now', () => {
  it('is free one lease after it is next asked for', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const claim = () => stores.ledger.claimCell(aCellKey(), 0, 'bob');
    await stores.ledger.claimCell(aCellKey(), 0, 'ann');
    step(clock, BACK_MS);
    const first = await claim();

    clock.advance(limits.leaseMs - 1);
    const early = await claim();
    clock.advance(1);

    expect([first, early]).toEqual([{ kind: 'held' }, { kind: 'held' }]);
    expect(await claim()).toMatchObject({ kind: 'claimed' });
  });

  it('stays with an owner that extends it', async () => {
    using opened = open();
    const { clock, stores } = opened;
    await stores.ledger.claimCell(aCellKey(), 0, 'ann');
    step(clock, BACK_MS);
    await stores.ledger.claimCell(aCellKey(), 0, 'bob');

    clock.advance(limits.leaseMs - 1);
    await stores.ledger.extendLeases([aCellKey()], 'ann');
    clock.advance(limits.leaseMs - 1);

    expect(await stores.ledger.claimCell(aCellKey(), 0, 'bob')).toEqual({ kind: 'held' });
  });
});

describe('a held task whose lease ends by the clock', () => {
  it('is not delivered again while its holder is at work, not even to itself', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const own = stores.queueOf(await registerSelf(stores));
    const other = stores.queueOf('bob');
    await own.send('lab', [aCellTask()]);
    const [held] = (await own.receive('lab', 1)) as [Delivery];

    step(clock, FORWARD_MS);
    const received = [await other.receive('lab', 1), await own.receive('lab', 1)];
    await own.acknowledge(held);

    expect(received).toEqual([[], []]);
    expect(await own.readBacklog()).toEqual([]);
  });

  it('does not hide the tasks that nobody holds', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const own = stores.queueOf(await registerSelf(stores));
    const tasks = ['held', 'free', 'freed'].map((id) => aCellTask({ id }));
    await own.send('lab', tasks);
    await own.receive('lab', 1);

    step(clock, FORWARD_MS);
    const received = await stores.queueOf('bob').receive('lab', 5);

    expect(received.map(({ task }) => task.id)).toEqual(['free', 'freed']);
  });

  it.each(hiddenOwners)('is delivered again if its holder is one $what', async (own) => {
    using opened = open();
    const { clock, stores } = opened;
    await registerSelf(stores);
    const queue = stores.queueOf(registerHidden(stores, own));
    await queue.send('lab', [aCellTask()]);
    await queue.receive('lab', 1);

    step(clock, FORWARD_MS);

    expect(await stores.queueOf('bob').receive('lab', 1)).toHaveLength(1);
  });
});

describe('a task that was hidden after what the clock says now', () => {
  it.each(['the process that released it', 'a new process'])(
    'is delivered by %s after its delay',
    async (which) => {
      using opened = open();
      const { clock, stores } = opened;
      const releasing = stores.queueOf('ann');
      await releasing.send('lab', [aCellTask()]);
      const [held] = (await releasing.receive('lab', 1)) as [Delivery];
      await releasing.release(held, 5_000);

      step(clock, BACK_MS);
      const queue = which === 'a new process' ? stores.queueOf('bob') : releasing;
      const atOnce = await queue.receive('lab', 1);
      clock.advance(4_999);
      const early = await queue.receive('lab', 1);
      clock.advance(1);

      expect([atOnce, early]).toEqual([[], []]);
      expect(await queue.receive('lab', 1)).toHaveLength(1);
    },
  );

  it('is delivered one lease later if its holder is gone', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const [ann, bob] = [stores.queueOf('ann'), stores.queueOf('bob')];
    await ann.send('lab', [aCellTask()]);
    await ann.receive('lab', 1);

    step(clock, BACK_MS);
    const atOnce = await bob.receive('lab', 1);
    clock.advance(limits.leaseMs - 1);
    const early = await bob.receive('lab', 1);
    clock.advance(1);

    expect([atOnce, early]).toEqual([[], []]);
    expect(await bob.receive('lab', 1)).toHaveLength(1);
  });

  it('stays hidden as long as its holder extends it', async () => {
    using opened = open();
    const { clock, stores } = opened;
    const [ann, bob] = [stores.queueOf('ann'), stores.queueOf('bob')];
    await ann.send('lab', [aCellTask()]);
    const held = await ann.receive('lab', 1);

    step(clock, BACK_MS);
    await ann.extend(held);
    clock.advance(limits.leaseMs - 1);

    expect(await bob.receive('lab', 1)).toEqual([]);
  });
});
