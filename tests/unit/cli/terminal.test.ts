import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainText } from '../../../packages/cli/src/terminal.ts';

describe('a plain text', () => {
  it.each([
    ['\u001b[31mred\u001b[0m', '\\x1b[31mred\\x1b[0m'],
    ['\u001b]0;title\u0007', '\\x1b]0;title\\x07'],
    ['over\rwritten', 'over\\x0dwritten'],
    ['\u0000\u007f\u009b31m', '\\x00\\x7f\\x9b31m'],
    ['abc\u202edef\u2066', 'abc\\u202edef\\u2066'],
    ['tab\tand\nline', 'tab\tand\nline'],
    ['größer – 大 🙂', 'größer – 大 🙂'],
  ])('of %j is %j', (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it('has no control character but tab and line end', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainText(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
      }),
    );
  });

  it('is the text itself where that is plain already', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const plain = plainText(text);

        expect(plainText(plain)).toBe(plain);
      }),
    );
  });
});
