import type { TaskCounter, TaskQueue } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellTask } from '../support/builders.ts';

/** A fresh, empty queue and who counts it. */
export interface TaskCounterUnderTest extends AsyncDisposable {
  readonly queue: TaskQueue;
  readonly counter: TaskCounter;
}

/** Makes a fresh, empty queue of the lanes `lab` and `openai`. */
export type OpenTaskCounter = () => Promise<TaskCounterUnderTest>;

/** What the `TaskCounter` port promises, sentence by sentence. */
export function describeTaskCounterContract(name: string, open: OpenTaskCounter): void {
  describe(`TaskCounter contract: ${name}`, () => {
    it('counts nothing at first', async () => {
      await using store = await open();

      expect(await store.counter.countTasks('lab')).toBe(0);
    });

    it('counts the tasks of a lane, not those of others', async () => {
      await using store = await open();
      const tasks = Array.from({ length: 12 }, (_, at) => aCellTask({ id: `q${at}` }));

      await store.queue.send('lab', tasks);
      await store.queue.send('openai', tasks.slice(0, 1));

      expect(await store.counter.countTasks('lab')).toBe(12);
      expect(await store.counter.countTasks('openai')).toBe(1);
    });

    it('counts a task once, waiting, in flight or delayed, until it is acknowledged', async () => {
      await using store = await open();
      await store.queue.send('lab', [aCellTask({ id: 'q1' }), aCellTask({ id: 'q2' })]);
      const [first, second] = await store.queue.receive('lab', 2);
      if (first === undefined || second === undefined) throw new Error('expected two deliveries');
      const counts = [await store.counter.countTasks('lab')];

      await store.queue.release(first, 600_000);
      counts.push(await store.counter.countTasks('lab'));
      await store.queue.acknowledge(second);
      counts.push(await store.counter.countTasks('lab'));
      await store.queue.acknowledge(first);
      counts.push(await store.counter.countTasks('lab'));

      expect(counts).toEqual([2, 2, 1, 0]);
    });
  });
}
