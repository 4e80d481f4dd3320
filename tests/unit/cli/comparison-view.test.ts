import type { Comparison } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { renderComparison } from '../../../packages/cli/src/render/comparison-view.ts';
import { compareValues } from '../../../packages/core/src/compare/compare-values.ts';
import { judgeFigures } from '../../../packages/core/src/compare/judge-figures.ts';
import type { QuestionValue } from '../../../packages/core/src/compare/question-values.ts';

/** Values of four questions; null for a cell without one. */
type Values = readonly (number | null)[];

function valuesOf(values: Values): ReadonlyMap<string, QuestionValue> {
  return new Map(
    values.map((value, index) => [
      `q${index}`,
      {
        ...{ sum: value ?? 0, squares: (value ?? 0) ** 2, count: value === null ? 0 : 1, cells: 1 },
        ...{ ruled: 0, tags: {}, digest: undefined },
      },
    ]),
  );
}

/** A comparison of one pair of configs of a group. */
function aComparison(
  figure: string,
  [first, second]: readonly [Values, Values],
  range: readonly [number, number],
): Comparison {
  const figures = compareValues(valuesOf(first), valuesOf(second), range);
  const rule = { better: 'higher', margin: null, coverageFloor: 0.98 } as const;
  const [all] = judgeFigures([figures], rule);
  if (all === undefined) throw new Error('expected figures');
  const side = { group: 'demo', runs: ['demo-r1'], grading: 1 };
  const pair = {
    ...{ a: { ...side, config: 'a' }, b: { ...side, config: 'b' } },
    ...{ differs: [], otherTexts: 0, all, byTag: {}, changed: [] },
  };
  return { schemaVersion: 1, figure, better: 'higher', margin: null, tag: null, pairs: [pair] };
}

const view = { form: 'text', width: undefined, flag: '', commandName: 'thrice' } as const;

describe('a comparison', () => {
  const values = [
    [1, 1, 0.5, null],
    [0, 1, 0.5, 0.5],
  ] as const;

  it.each([
    ['score', [0, 1], '; whatever is missing, the difference is 12.5 to 37.5'],
    ['citation_score', [0, 1], '; whatever is missing, the difference is 0.125 to 0.375'],
    ['citations', [0, Number.POSITIVE_INFINITY], ''],
  ] as const)('says what is missing of %s', (figure, range, within) => {
    const text = renderComparison(aComparison(figure, values, range), view);

    expect(text.split('\n')).toContain(`  3 of 4 questions; coverage 75.0 and 100.0 %${within}`);
  });

  it('tells the row of all questions from those of a tag, whatever its values are', () => {
    const whole = aComparison('score', values, [0, 1]);
    const [pair] = whole.pairs;
    if (pair === undefined) throw new Error('expected a pair');
    const byTag = { '': pair.all, all: pair.all, hard: pair.all };
    const comparison = { ...whole, tag: 'level', pairs: [{ ...pair, byTag }] };

    const [text, csv] = (['text', 'csv'] as const).map((form) =>
      renderComparison(comparison, { ...view, form }).split('\n'),
    );

    expect(text?.slice(2, 6).map((row) => row.split(/ +/)[2])).toEqual([
      'all',
      '""',
      '"all"',
      'hard',
    ]);
    expect(csv?.slice(1, 5).map((row) => row.split(',').slice(5, 7))).toEqual([
      ['', ''],
      ['level', ''],
      ['level', 'all'],
      ['level', 'hard'],
    ]);
  });
});
