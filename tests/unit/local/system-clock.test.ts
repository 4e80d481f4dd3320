import { getEventListeners } from 'node:events';
import { systemClock } from '@thrice/local';
import { describe, expect, it } from 'vitest';

describe('systemClock', () => {
  it('formats instants as ISO-8601 UTC with milliseconds', () => {
    expect(systemClock.toIso(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(systemClock.toIso(1_767_323_045_678)).toBe('2026-01-02T03:04:05.678Z');
  });

  it('counts monotonic time from an arbitrary start, not from 1970', () => {
    const beforeMs = systemClock.monotonicMs();

    const afterMs = systemClock.monotonicMs();

    expect(beforeMs).toBeGreaterThanOrEqual(0);
    expect(afterMs).toBeGreaterThanOrEqual(beforeMs);
    expect(afterMs).toBeLessThan(systemClock.now() / 2);
  });

  it('resolves immediately if the signal has already aborted', async () => {
    const sleep = systemClock.sleep(1_000_000, AbortSignal.abort());

    await expect(sleep).resolves.toBeUndefined();
  });

  it('resolves when the signal aborts, and never rejects', async () => {
    const controller = new AbortController();
    const sleep = systemClock.sleep(1_000_000, controller.signal);

    controller.abort(new Error('stop'));

    await expect(sleep).resolves.toBeUndefined();
  });

  it('leaves no listener behind however it ends', async () => {
    const controller = new AbortController();
    await systemClock.sleep(0, controller.signal);
    const afterTime = getEventListeners(controller.signal, 'abort').length;
    const sleep = systemClock.sleep(1_000_000, controller.signal);

    controller.abort();
    await sleep;

    expect(afterTime).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  it('sleeps without a signal', async () => {
    await expect(systemClock.sleep(0)).resolves.toBeUndefined();
  });
});
