import { describe, expect, it } from 'vitest';
import { MessageBacklog } from '../../../packages/capacity-model/src/message-backlog.ts';

describe('MessageBacklog', () => {
  it('receives the oldest message first and reports its age', () => {
    const backlog = new MessageBacklog(100);
    backlog.push(1, 1, false);
    backlog.push(4, 1, true);

    const first = [backlog.receive(10), backlog.receivedAgeSeconds, backlog.isRetryReceived];
    const second = [backlog.receive(10), backlog.receivedAgeSeconds, backlog.isRetryReceived];

    expect(first).toEqual([true, 9, false]);
    expect(second).toEqual([true, 6, true]);
    expect(backlog.receive(10)).toBe(false);
    expect(backlog.isEmpty).toBe(true);
  });

  it('expires a message exactly at the end of its retention time', () => {
    const backlog = new MessageBacklog(100);
    backlog.push(0, 2, false);
    backlog.push(1, 3, false);

    expect(backlog.receive(99.9)).toBe(true);
    expect(backlog.receive(100)).toBe(true);
    expect(backlog.expiredCount).toBe(1);
    expect(backlog.expiredAtSeconds).toBe(100);
  });

  it('keeps its count over many batches', () => {
    const backlog = new MessageBacklog(1e9);
    const batches = 10_000;
    for (let batch = 0; batch < batches; batch += 1) backlog.push(batch, 2, false);

    let received = 0;
    while (backlog.receive(batches)) received += 1;

    expect(received).toBe(2 * batches);
  });
});
