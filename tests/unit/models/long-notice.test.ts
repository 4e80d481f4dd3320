import { describe, expect, it } from 'vitest';
import { mapLimitText } from '../../../packages/models/src/vendors/map-limit-text.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

describe('mapLimitText', () => {
  it('takes a text of more than 200 characters as an answer, even if it reads as a notice', () => {
    const notice = (length: number) => {
      const start = "You've hit your usage limit. Upgrade to Pro (https://";
      return `${start}${'x'.repeat(length - start.length)}`;
    };

    expect(mapLimitText(notice(200), nowMs)?.code).toBe('quota-exhausted');
    expect(mapLimitText(notice(201), nowMs)).toBeUndefined();
  });
});
