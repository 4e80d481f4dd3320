import { suggestName } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../packages/core/src/spec/nearest-name.ts';

describe('nearestName', () => {
  it.each([
    ['replicats', ['replicates', 'parallel'], 'replicates'],
    ['OPENAI', ['gemini', 'openai'], 'openai'],
    ['opnai', ['gemini', 'openai'], 'openai'],
    ['ab', ['abc'], 'abc'],
    ['dmeo', ['demo'], 'demo'],
    ['both', ['cot', 'direct'], undefined],
    ['b', ['a'], undefined],
    ['xyz', ['abcdef'], undefined],
    ['abcdefgh', ['abcde'], undefined],
    ['abcdef', ['abcdefghi'], 'abcdefghi'],
    ['anything', [], undefined],
  ])('for %j among %j is %j', (name, known, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it('is suggested only if it is close', () => {
    expect(suggestName('opnai', ['openai'])).toBe('; did you mean "openai"?');
    expect(suggestName('opnai', ['mistral'])).toBe('');
  });

  it('is found despite any one wrong letter', () => {
    const words = fc.stringMatching(/^[a-z]{4,12}$/);

    fc.assert(
      fc.property(words, fc.nat(), fc.constantFrom('', 'x', 'xy'), (word, at, instead) => {
        const index = at % word.length;
        const wrong = word.slice(0, index) + instead + word.slice(index + 1);

        expect(nearestName(wrong, ['0000000000000000', word])).toBe(word);
      }),
    );
  });
});
