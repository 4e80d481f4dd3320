import { type Call, renderSummary, type Summary, SummaryBuilder } from '@thrice/core';
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

  const priced = aCall({ costUsd: 1 });
  const verdict = aCall({ step: 'judge-1', purpose: 'grading', costUsd: 0.5 });
  const summaryOf = (...calls: readonly Call[]) => {
    const builder = new SummaryBuilder(aGroupHeader({ group: 'demo' }), 0);
    builder.add(aCellRow({ calls: [...calls] }));
    return builder.build();
  };
  const show = (summary: Summary, title: string, form: 'text' | 'csv') => {
    const columns = summaryColumns.filter((each) => ['config', title].includes(each.title));
    return renderSummary(summary, form, { columns })
      .split('\n')
      .slice(form === 'csv' ? 1 : 3)[0];
  };

  it('show what is known of an overhead or waste that is not, in CSV nothing', () => {
    const unpriced = { ...verdict, costUsd: null };
    const discarded = {
      ...verdict,
      discarded: 'unreadable-verdict' as const,
    };
    const partly = summaryOf(priced, verdict, unpriced);

    expect(show(partly, 'overhead', 'text')).toBe('direct  >= $0.5000');
    expect(show(partly, 'overhead', 'csv')).toBe('direct,');
    expect(show(partly, 'unpriced', 'csv')).toBe('direct,1');
    expect(
      show(summaryOf(priced, discarded, { ...discarded, costUsd: null }), 'waste', 'text'),
    ).toBe('direct  >= $0.5000');
    expect(show(summaryOf({ ...priced, costUsd: null }, unpriced), 'overhead', 'text')).toBe(
      'direct  >= $0.0000',
    );
    expect(show(summaryOf(priced), 'overhead', 'text')).toBe('direct');
  });

  it('count the calls of a cell without those that judge or probe', () => {
    const member = aCall({ step: 'member-1' });
    const probing = aCall({ step: 'empty-judge-1', purpose: 'probing' });

    expect(show(summaryOf(priced, verdict, probing), 'calls/cell', 'text')).toBe('direct');
    expect(show(summaryOf(priced, member, verdict), 'calls/cell', 'text')).toBe(
      'direct        2.00',
    );
  });

  it('have titles of their own', () => {
    const titles = summaryColumns.map(({ title }) => title);

    expect(new Set(titles).size).toBe(titles.length);
  });
});
