import { describe, expect, it } from 'vitest';
import { MessageBacklog } from '../../../packages/capacity-model/src/message-backlog.ts';

describe('MessageBacklog', () => {
  it('hands the oldest message out first and tells its age', () => {
    const backlog = new MessageBacklog(100);
    backlog.push(1, 1, false);
    backlog.push(4, 1, true);

    const taken = [backlog.take(10), backlog.takenAgeSeconds, backlog.isTakenAgain];
    const takenNext = [backlog.take(10), backlog.takenAgeSeconds, backlog.isTakenAgain];

    expect(taken).toEqual([true, 9, false]);
    expect(takenNext).toEqual([true, 6, true]);
    expect(backlog.take(10)).toBe(false);
    expect(backlog.isEmpty).toBe(true);
  });

  it('forgets a message after the retention time, to the second', () => {
    const backlog = new MessageBacklog(100);
    backlog.push(0, 2, false);
    backlog.push(1, 3, false);

    expect(backlog.take(99.9)).toBe(true);
    expect(backlog.take(100)).toBe(true);
    expect(backlog.expiredCount).toBe(1);
    expect(backlog.expiredAtSeconds).toBe(100);
  });

  it('keeps its count over many batches', () => {
    const backlog = new MessageBacklog(1e9);
    const batches = 10_000;
    for (let batch = 0; batch < batches; batch += 1) backlog.push(batch, 2, false);

    let taken = 0;
    while (backlog.take(batches)) taken += 1;

    expect(taken).toBe(2 * batches);
  });
});
