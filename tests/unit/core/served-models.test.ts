import { renderSummary, type Summary, SummaryBuilder } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCall, aCellRow, aGroupHeader } from '../../support/builders.ts';

/** A summary of a config with one answer by each of these models. */
function summaryOf(servedModels: readonly (string | null)[]): Summary {
  const builder = new SummaryBuilder(aGroupHeader(), 0);
  for (const [index, servedModel] of servedModels.entries()) {
    builder.add(aCellRow({ id: `q${index}`, calls: [aCall({ servedModel })] }));
  }
  return builder.build();
}

describe('the models of a summary', () => {
  it('are counted by name, the most frequent first, with those that were not requested marked', () => {
    const summary = summaryOf(['m-mini', 'm-20260101', null, 'm-20260101', 'm']);

    expect(summary.configs[0]?.servedModels).toEqual([
      { model: 'lab/m', servedModel: 'm-20260101', isOther: false, calls: 2 },
      { model: 'lab/m', servedModel: 'm', isOther: false, calls: 1 },
      { model: 'lab/m', servedModel: 'm-mini', isOther: true, calls: 1 },
    ]);
  });

  it('are those of the answers, not of discarded calls', () => {
    const builder = new SummaryBuilder(aGroupHeader(), 0);
    builder.add(aCellRow({ calls: [aCall({ discarded: 'wrong-served-model' })] }));

    expect(builder.build().configs[0]?.servedModels).toEqual([]);
  });

  it('are at most twenty, however many names a server makes up', () => {
    const summary = summaryOf(Array.from({ length: 50 }, (_, index) => `m-${index}`));

    expect(summary.configs[0]?.servedModels).toHaveLength(20);
  });

  it('are named below the table where they were not requested', () => {
    const text = renderSummary(summaryOf(['m', 'm-mini']), 'text');

    expect(text).toContain('direct: answers of lab/m from "m-mini": 1\n');
    expect(text).not.toContain('from "m"');
  });
});
