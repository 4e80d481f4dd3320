import { renderReplicates, SummaryBuilder } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { ReplicateSpread } from '../../../packages/core/src/results/replicate-spread.ts';
import { aCellRow, aGroupHeader, aRowWithoutScore } from '../../support/builders.ts';

function spreadOf(scores: Readonly<Record<string, readonly (number | null)[]>>) {
  const spread = new ReplicateSpread('a');
  for (const [id, replicates] of Object.entries(scores))
    for (const score of replicates) spread.add({ id, score });
  return spread.summarize();
}

describe('the spread of replicates', () => {
  it('says what at least one of them achieves, what all do, how often they differ, and where variance comes from', () => {
    const figures = spreadOf({ q1: [1, 1, 1], q2: [0, 1, 0], q3: [0, 0, 0], q4: [1, 1, 0] });

    expect(figures).toMatchObject({
      config: 'a',
      replicates: 3,
      passAtK: { value: 0.75, count: 4 },
    });
    expect(figures?.passHatK).toEqual({ value: 0.25, count: 4 });
    // Two of three pairs differ for q2 and q4, none for the others.
    expect(figures?.flipRate).toBeCloseTo(4 / 12, 12);
    // Within: 2/3 + 2/3 over 8 degrees of freedom; between: 3 x (0.25 + 1/36 + 0.25 + 1/36) / 3.
    expect(figures?.variance.replicate).toBeCloseTo(1 / 6, 12);
    expect(figures?.variance.question).toBeCloseTo((5 / 9 - 1 / 6) / 3, 12);
    expect(figures?.variance.advice).toBe('more questions');
  });

  it('counts questions with as many scores as the most alone for pass@k, and what failed for nothing', () => {
    const figures = spreadOf({ q1: [1, null], q2: [1, 1], q3: [0, null] });

    expect(figures).toMatchObject({ replicates: 2, passAtK: { value: 1, count: 1 }, flipRate: 0 });
  });

  it('counts what a ruling counts as wrong', () => {
    const spread = new ReplicateSpread('a');
    spread.add({ id: 'q1', score: 1 });
    spread.add({ id: 'q1', score: null, ruling: { class: 'content-filtered', as: 'wrong' } });

    expect(spread.summarize()).toMatchObject({ passHatK: { value: 0, count: 1 }, flipRate: 1 });
  });

  it('takes a fraction for no pass', () => {
    expect(spreadOf({ q1: [0.5, 1] })).toMatchObject({ passHatK: { value: 0 }, flipRate: 1 });
  });

  it('is unknown for single replicates', () => {
    expect(spreadOf({ q1: [1], q2: [0, null] })).toBeUndefined();
    expect(spreadOf({})).toBeUndefined();
  });
});

describe('the table of replicates', () => {
  const runs = ['r1', 'r2'];
  const refused = { class: 'content-filtered', as: 'wrong' } as const;

  /** Of two questions, the second of which has no score in the last run. */
  function renderWith(ruling: typeof refused | undefined, coverageFloor: number): string {
    const builder = new SummaryBuilder(aGroupHeader({ runs }), coverageFloor);
    const spread = new ReplicateSpread('direct');
    const rows = [
      aCellRow({ run: 'r1', id: 'q1' }),
      aCellRow({ run: 'r1', id: 'q2' }),
      aCellRow({ run: 'r2', id: 'q1', score: 0 }),
      aRowWithoutScore('failed', { run: 'r2', id: 'q2', ...(ruling && { ruling }) }),
    ];
    for (const row of rows) {
      builder.add(row);
      spread.add(row);
    }
    const figures = spread.summarize();
    if (figures === undefined) throw new Error('expected replicates');
    return renderReplicates([figures], builder.build(), { form: 'text', width: undefined });
  }

  it('marks what a ruling changes, and withholds what is below the coverage floor', () => {
    const tables = [
      renderWith(undefined, 0.5),
      renderWith(undefined, 0.98),
      renderWith(refused, 0.98),
    ];

    expect(tables.map((table) => table.split('\n')[1]?.replaceAll(/ +/g, ' '))).toEqual([
      'direct 2 1 100.0 0.0 100.0 0 0.5 more replicates',
      'direct 2 1 – – – – – –',
      'direct 2 2 100.0* 0.0* 100.0* 0* 0.5* more replicates',
    ]);
  });
});
