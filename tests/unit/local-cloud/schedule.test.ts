import { describe, expect, it } from 'vitest';
import { periodSecondsOf } from '../../../packages/local-cloud/src/schedule.ts';

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
