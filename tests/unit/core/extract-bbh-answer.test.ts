import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extractBbhAnswer } from '../../../packages/core/src/scorers/bbh.ts';
import {
  type BbhRecording,
  readBbhCounts,
  readBbhRecordings,
} from '../../support/bbh-recordings.ts';
import { hasSharedData } from '../../support/shared-data.ts';

describe('extractBbhAnswer', () => {
  it.each([
    ['the whole text without the mark', ' valid ', 'valid'],
    ['the text after the mark', 'So the answer is (B).', '(B)'],
    ['the text after the last mark', 'the answer is 3. No, the answer is 4.', '4'],
    ['all lines after the mark', 'the answer is a\nb', 'a\nb'],
    ['a text with one of two periods', 'the answer is 5..', '5.'],
    ['a text that only ends in a closing bracket', 'the answer is ) ]', ') ]'],
    ['the text in its own case', 'the answer is yes', 'yes'],
    ['the whole text if the mark is written differently', 'The Answer Is 4.', 'The Answer Is 4'],
    ['an empty text', '', ''],
    ['an empty text after a bare mark', 'the answer is .', ''],
  ])('returns %s', (_, text, answer) => {
    expect(extractBbhAnswer(text)).toBe(answer);
  });

  it('returns any answer without its trailing period, whatever precedes it', () => {
    const answers = fc.string().filter((text) => text === text.trim() && !text.endsWith('.'));

    fc.assert(
      fc.property(fc.string(), answers, fc.boolean(), (before, answer, hasStop) => {
        fc.pre(!answer.includes('the answer is '));

        const text = `${before} the answer is ${answer}${hasStop ? '.' : ''}`;

        expect(extractBbhAnswer(text)).toBe(answer);
      }),
    );
  });
});

describe.runIf(hasSharedData)('the recorded outputs', () => {
  it.each(['direct', 'cot'] as const)('reproduce every published count of %s', (arm) => {
    const counts = countBySubtask(readBbhRecordings(arm), extractBbhAnswer);

    expect(counts).toEqual(readBbhCounts().correct[arm]);
  });
});

function countBySubtask(
  recordings: readonly BbhRecording[],
  extract: (text: string) => string,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { subtask, prediction, target } of recordings) {
    counts[subtask] = (counts[subtask] ?? 0) + (extract(prediction) === target ? 1 : 0);
  }
  return counts;
}
