import { type CellResult, type Delivery, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellResult, aCellTask, aFailedResult } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openLocalStores } from '../../support/local-stores.ts';

describe('SqliteTaskQueue', () => {
  it('delivers tasks in the order they were sent', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    const ids = ['c', 'a', 'b'];
    await queue.send(
      'lab',
      ids.map((id) => aCellTask({ id })),
    );

    const received = await queue.receive('lab', 2);

    expect(received.map(({ task }) => task.id)).toEqual(['c', 'a']);
  });

  it('hides the tasks of other groups', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    await stores.queueOf('ann', 'demo').send('lab', [aCellTask()]);

    const received = await stores.queueOf('ann', 'other').receive('lab', 1);

    expect(received).toEqual([]);
  });

  it('keeps one task per cell, of the latest generation', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    for (const generation of [0, 2, 1]) await queue.send('lab', [aCellTask({ generation })]);

    const received = await queue.receive('lab', 5);

    expect(received.map(({ task }) => task)).toEqual([aCellTask({ generation: 2 })]);
  });

  it('reads the question of a task from the file that was sent last, although a worker holds it', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    const edited = aCellTask({ question: { key: 'questions/new.jsonl', offset: 7, length: 8 } });
    await queue.send('lab', [aCellTask()]);
    const [held] = (await queue.receive('lab', 1)) as [Delivery];

    await queue.send('lab', [edited, edited]);
    await queue.acknowledge(held);

    const received = await queue.receive('lab', 5);
    expect(received.map(({ task }) => task)).toEqual([edited]);
  });

  it('ignores the receipt of an earlier delivery', async () => {
    const clock = new FakeClock();
    using stores = openLocalStores(':memory:', clock);
    const [ann, bob] = [stores.queueOf('ann'), stores.queueOf('bob')];
    await ann.send('lab', [aCellTask()]);
    const [stale] = (await ann.receive('lab', 1)) as [Delivery];
    clock.advance(limits.leaseMs);
    await bob.receive('lab', 1);
    clock.advance(1);

    await ann.acknowledge(stale);
    await ann.release(stale, 0);
    await ann.extend([stale]);

    expect(await ann.receive('lab', 1)).toEqual([]);
    clock.advance(limits.leaseMs - 1);
    expect(await ann.receive('lab', 1)).toHaveLength(1);
  });

  it('counts the remaining tasks by lane and config, held or not', async () => {
    const clock = new FakeClock();
    using stores = openLocalStores(':memory:', clock);
    const queue = stores.queueOf('ann');
    const send = (lane: string, config: string, id: string) =>
      queue.send(lane, [aCellTask({ config, id })]);
    await send('lab', 'direct', 'q1');
    await send('lab', 'direct', 'q2');
    await send('openai', 'other', 'q1');
    const [first, second] = (await queue.receive('lab', 2)) as [Delivery, Delivery];
    await queue.acknowledge(first);
    await queue.release(second, 5_000);

    const backlog = await queue.readBacklog();
    const { run } = aCellTask();

    expect(backlog).toEqual([
      { lane: 'lab', run, config: 'direct', count: 1, nextVisibleAtMs: clock.now() + 5_000 },
      { lane: 'openai', run, config: 'other', count: 1, nextVisibleAtMs: 0 },
    ]);
  });

  it('receives only tasks of the requested runs and configs', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    const tasks = [
      aCellTask({ id: 'q1' }),
      aCellTask({ id: 'q2', config: 'other' }),
      aCellTask({ id: 'q3', run: 'demo-r2' }),
    ];
    await queue.send('lab', tasks);
    const { run, config } = aCellTask();

    const received = await queue.receive('lab', 5, { runs: [run], configs: [config] });

    expect(received.map(({ task }) => task.id)).toEqual(['q1']);
    expect(await queue.receive('lab', 5)).toHaveLength(2);
  });

  it('keeps a later generation that was sent while the earlier one was in flight', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    await queue.send('lab', [aCellTask()]);
    const [earlier] = (await queue.receive('lab', 1)) as [Delivery];

    await queue.send('lab', [aCellTask({ generation: 1 })]);
    await queue.acknowledge(earlier);

    const [later] = await queue.receive('lab', 1);
    expect(later?.task.generation).toBe(1);
  });

  it('keeps a held task from other workers when it is sent again in the same generation', async () => {
    const clock = new FakeClock();
    using stores = openLocalStores(':memory:', clock);
    const queue = stores.queueOf('ann');
    await queue.send('lab', [aCellTask({ generation: 1 })]);
    const [held] = await queue.receive('lab', 1);

    await queue.send('lab', [aCellTask({ generation: 1 }), aCellTask({ generation: 0 })]);

    expect(await stores.queueOf('bob').receive('lab', 2)).toEqual([]);
    if (held !== undefined) await queue.acknowledge(held);
    expect(await queue.readBacklog()).toEqual([]);
  });

  it('delivers a task at once that was woken while it was held, and only then', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    await queue.send('lab', [aCellTask()]);
    const [held] = (await queue.receive('lab', 1)) as [Delivery];

    await stores.queueOf('bob').wake([aCellKey()]);
    const whileHeld = await queue.receive('lab', 1);
    await queue.release(held, 60_000);
    const [again] = (await queue.receive('lab', 1)) as [Delivery];
    await queue.release(again, 60_000);

    expect(whileHeld).toEqual([]);
    expect(again.task).toEqual(held.task);
    expect(await queue.receive('lab', 1)).toEqual([]);
  });

  it('makes the delayed tasks of a lane visible but not those that are held', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    await queue.send(
      'lab',
      ['held', 'delayed'].map((id) => aCellTask({ id })),
    );
    await queue.send('openai', [aCellTask({ config: 'other' })]);
    const [, delayed] = (await queue.receive('lab', 2)) as [Delivery, Delivery];
    const [elsewhere] = (await queue.receive('openai', 1)) as [Delivery];
    await queue.release(delayed, 60_000);
    await queue.release(elsewhere, 60_000);

    await queue.makeVisible('lab');

    expect((await queue.receive('lab', 2)).map(({ task }) => task.id)).toEqual(['delayed']);
    expect(await queue.receive('openai', 1)).toEqual([]);
  });

  it('drops the tasks of done cells, held or not, and no others', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const { ledger } = stores;
    const queue = stores.queueOf('ann');
    const finish = async (id: string, generation: number, result: CellResult) => {
      await ledger.claimCell(aCellKey({ id }), generation, 'bob');
      await ledger.completeCell(aCellKey({ id }), 'bob', result, []);
    };
    const ids = ['held', 'scored', 'failed', 'rerun', 'again', 'claimed', 'unclaimed'];
    const tasks = ids.map((id) => aCellTask({ id, generation: id === 'rerun' ? 1 : 0 }));
    await queue.send('lab', tasks);
    await queue.receive('lab', 1);
    for (const id of ['held', 'scored', 'again']) await finish(id, 0, aCellResult());
    for (const id of ['failed', 'rerun']) await finish(id, 0, aFailedResult());
    await queue.send('lab', [aCellTask({ id: 'again', generation: 1 })]);
    await ledger.claimCell(aCellKey({ id: 'claimed' }), 0, 'bob');

    const count = await queue.dropDone();

    const left = await queue.receive('lab', 9);
    expect(count).toBe(4);
    expect(left.map(({ task }) => task.id)).toEqual(['rerun', 'claimed', 'unclaimed']);
  });

  it('drops no tasks of other groups', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    await stores.queueOf('ann', 'demo').send('lab', [aCellTask()]);
    await stores.ledger.claimCell(aCellKey(), 0, 'bob');
    await stores.ledger.completeCell(aCellKey(), 'bob', aCellResult(), []);

    const count = await stores.queueOf('ann', 'other').dropDone();

    expect(count).toBe(0);
    expect(await stores.queueOf('ann', 'demo').receive('lab', 1)).toHaveLength(1);
  });

  it('can send tasks of a question file again after a send that was not committed', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const queue = stores.queueOf('ann');
    const { question } = aCellTask();
    const refused = queue.send('lab', [aCellTask({ question: { ...question, length: 1.5 } })]);
    await expect(refused).rejects.toMatchObject({ class: 'internal' });

    await queue.send('lab', [aCellTask()]);

    expect((await queue.receive('lab', 1)).map(({ task }) => task)).toEqual([aCellTask()]);
  });
});
