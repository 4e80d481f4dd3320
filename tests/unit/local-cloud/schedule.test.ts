import { describe, expect, it } from 'vitest';
import type { FunctionLog } from '../../../packages/local-cloud/src/function-log.ts';
import { periodSecondsOf, ScheduleRunner } from '../../../packages/local-cloud/src/schedule.ts';
import { waitUntil } from '../../support/wait-until.ts';

const log: FunctionLog = {
  path: '',
  fileDescriptor: -1,
  write: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** A schedule whose ticks are counted, and end when they are told to. */
function startSchedule(tick: () => Promise<void>) {
  const counts = { ticks: 0 };
  const runner = new ScheduleRunner({
    schedule: { name: 'tick', functionName: 'f', expression: 'rate(1 minute)', event: {} },
    periodSeconds: 0.001,
    invoke: async () => {
      counts.ticks += 1;
      await tick();
      return undefined;
    },
    log,
  });
  return { counts, [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose]() };
}

describe('a schedule', () => {
  it('leaves a tick out while an earlier one runs', async () => {
    await using hanging = startSchedule(() => Promise.withResolvers<void>().promise);
    await using steady = startSchedule(async () => undefined);

    await waitUntil('the other has ticked', () => steady.counts.ticks >= 20);

    expect(hanging.counts.ticks).toBe(1);
  });
});

describe('periodSecondsOf', () => {
  it.each([
    ['rate(1 minute)', 60],
    ['rate(5 minutes)', 300],
    ['rate(2 hours)', 7_200],
    ['rate(1 day)', 86_400],
  ])('parses %s', (expression, seconds) => {
    expect(periodSecondsOf(expression)).toBe(seconds);
  });

  it.each(['rate(0 minutes)', 'cron(0 * * * ? *)', 'at(2026-11-20T00:00:00)', ''])(
    'rejects %s',
    (expression) => {
      expect(() => periodSecondsOf(expression)).toThrow('schedule: expected rate(...)');
    },
  );
});
