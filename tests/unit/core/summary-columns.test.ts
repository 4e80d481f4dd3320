import { renderSummary, SummaryBuilder } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { column, summaryColumns } from '../../../packages/core/src/results/summary-columns.ts';
import { aCall, aCellRow, aGroupHeader } from '../../support/builders.ts';

const [config] = summaryColumns;
const runs = column({
  title: 'runs',
  names: ['runs'],
  isHiddenWhenEmpty: true,
  value: ({ replicates }) => replicates.length,
  format: (count) => `x${count}`,
});
const rejected = column({
  title: 'rejected',
  names: ['fewest', 'most'],
  isHiddenWhenEmpty: true,
  value: () => [0, null],
  format: ([fewest]) => String(fewest),
});
const columns = [config, runs, rejected].filter((each) => each !== undefined);

describe('an added column', () => {
  it.each([
    ['csv', 'config,runs,fewest,most\ndirect,1,0,\n'],
    [
      'md',
      'demo: 1 question, 1 replicate\n\n| config | runs | rejected |\n| ------ | ---- | -------: |\n| direct | x1   |        0 |\n',
    ],
    ['text', 'demo: 1 question, 1 replicate\n\nconfig  runs\ndirect  x1\n'],
  ] as const)('is shown in the %s form, but not as text without figures', (form, table) => {
    const builder = new SummaryBuilder(aGroupHeader({ group: 'demo' }), 0);
    builder.add(aCellRow());

    expect(renderSummary(builder.build(), form, { columns })).toContain(table);
  });
});

describe('the columns of the summary table', () => {
  it('show the cost of calls whose cells have no answer yet', () => {
    const cost = summaryColumns.filter(({ title }) => ['config', 'cost'].includes(title));
    const builder = new SummaryBuilder(aGroupHeader({ group: 'demo' }), 0);
    builder.add(aCellRow({ outcome: 'not-attempted', calls: [aCall({ costUsd: 2 })] }));

    expect(renderSummary(builder.build(), 'text', { columns: cost })).toContain('direct  $2.0000');
  });

  it('have titles of their own', () => {
    const titles = summaryColumns.map(({ title }) => title);

    expect(new Set(titles).size).toBe(titles.length);
  });
});
