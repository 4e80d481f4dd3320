import type { CellRow } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { summarizeTags, TagTally } from '../../../packages/core/src/results/tag-tally.ts';
import { aCellRow, aRowWithoutScore } from '../../support/builders.ts';

const snarks = { subtask: 'snarks' };

describe('the figures by tag', () => {
  it('count questions once and cells in every run', () => {
    const first = [
      aCellRow({ tags: snarks }),
      aCellRow({ tags: snarks, score: 0 }),
      aRowWithoutScore('failed', { tags: snarks }),
    ];
    const second = [
      aCellRow({ tags: snarks }),
      aCellRow({ tags: snarks, outcome: 'unparsed', score: 0 }),
      aRowWithoutScore('not-attempted', { tags: snarks }),
    ];

    const byTag = tally(first, second);

    expect(byTag).toEqual({
      subtask: {
        snarks: {
          questions: 3,
          cells: 6,
          scored: 3,
          unparsed: 1,
          ruledWrong: 0,
          ruledExcluded: 0,
          correct: 2,
          score: 2 / 4,
        },
      },
    });
  });

  it('are listed under each tag of a row', () => {
    const byTag = tally([
      aCellRow({ tags: { subtask: 'snarks', level: '1' } }),
      aCellRow({ tags: { level: '2' }, score: 0 }),
    ]);

    expect(Object.keys(byTag)).toEqual(['subtask', 'level']);
    expect(byTag['level']).toMatchObject({ 1: { score: 1 }, 2: { score: 0 } });
  });

  it('have no score if no cell has a score', () => {
    const byTag = tally([aRowWithoutScore('ungraded', { tags: snarks })]);

    expect(byTag['subtask']?.['snarks']).toEqual({
      questions: 1,
      cells: 1,
      scored: 0,
      unparsed: 0,
      ruledWrong: 0,
      ruledExcluded: 0,
      correct: 0,
      score: null,
    });
  });

  it('omit a tag that is nearly unique per question', () => {
    const rows = (count: number) =>
      Array.from({ length: count }, (_, at) => aCellRow({ tags: { source: String(at) } }));

    const kept = tally(rows(200));
    const left = tally(rows(201));

    expect(Object.keys(kept['source'] ?? {}).length).toBe(200);
    expect(left).toEqual({});
  });
});

function tally(first: readonly CellRow[], ...others: readonly (readonly CellRow[])[]) {
  const tallies = [first, ...others].map((rows) => {
    const tags = new TagTally();
    for (const row of rows) tags.add(row);
    return tags;
  });
  return summarizeTags(tallies);
}
