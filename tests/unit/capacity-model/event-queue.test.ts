import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../../packages/capacity-model/src/event-queue.ts';

describe('EventQueue', () => {
  it('pops events by time and moves its clock to each', () => {
    const events = new EventQueue();
    events.push(3, 30);
    events.push(1, 10);
    events.push(2, 20);

    const kinds = [events.pop(), events.pop()];

    expect(kinds).toEqual([10, 20]);
    expect(events.nowSeconds).toBe(2);
    expect(events.size).toBe(1);
  });

  it('keeps the time of its last event when it is empty', () => {
    const events = new EventQueue();
    events.push(5, 1);
    events.pop();

    expect(events.pop()).toBe(undefined);
    expect(events.nowSeconds).toBe(5);
  });

  it('sorts any times, including more than its initial capacity', () => {
    const times = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 3_000 });

    fc.assert(
      fc.property(times, (pushed) => {
        const events = new EventQueue();
        for (const time of pushed) events.push(time, 0);

        const popped: number[] = [];
        while (events.pop() !== undefined) popped.push(events.nowSeconds);

        expect(popped).toEqual(pushed.toSorted((left, right) => left - right));
      }),
      { numRuns: 50 },
    );
  });
});
