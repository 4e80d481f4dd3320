import { describe, expect, it } from 'vitest';
import { renderCell } from '../../../packages/cli/src/render/cells-view.ts';
import { aCellRow } from '../../support/builders.ts';

describe('an unparsed cell', () => {
  it.each([
    ['its text', { output: 'I cannot say.' }, 'I cannot say.'],
    ['a refusal', { output: null, refusal: 'I will not.' }, 'I will not.'],
    ['that it has no text', { output: null }, '(no text)'],
    ['that its text is empty', { output: ' \n' }, '(empty text)'],
    ['control characters escaped', { output: '\u001b[2Jx\r' }, '\\x1b[2Jx\\x0d'],
    [
      'the end of a long text',
      { output: `${'x'.repeat(3000)}${'y'.repeat(1999)}` },
      `(the last 2000 of 4999 characters)\nx${'y'.repeat(1999)}`,
    ],
    [
      'the end of a text that is cut within a character',
      { output: `😀${'y'.repeat(1999)}` },
      `(the last 2000 of 2001 characters)\n\ufffd${'y'.repeat(1999)}`,
    ],
  ])('shows %s', (_, recorded, text) => {
    const reason = 'cut-off';
    const row = aCellRow({
      ...recorded,
      outcome: 'unparsed',
      score: 0,
      reason,
      finishReason: 'length',
    });

    expect(renderCell(row, 'unparsed')).toBe(
      `── demo-r1 direct q1: cut-off, finish reason length ──\n${text}\n`,
    );
  });
});
