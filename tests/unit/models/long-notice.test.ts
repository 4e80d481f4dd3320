import { mapLimitText } from '@thrice/models';
import { describe, expect, it } from 'vitest';

describe('mapLimitText', () => {
  it('takes a text of more than 200 characters as an answer, even if it reads as a notice', () => {
    const notice = (length: number) => {
      const ending = ' usage limit reached';
      return `${'x'.repeat(length - ending.length)}${ending}`;
    };

    expect(mapLimitText(notice(200))?.code).toBe('quota-exhausted');
    expect(mapLimitText(notice(201))).toBeUndefined();
  });
});
