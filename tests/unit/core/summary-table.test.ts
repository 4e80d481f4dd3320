import {
  renderSummaries,
  renderSummary,
  renderTagTable,
  type Summary,
  SummaryBuilder,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCall, aCellRow, aGroupHeader, aRowWithoutScore } from '../../support/builders.ts';

const fixtures = '../../fixtures/reports';

/** Config a is complete in both runs and has a hostile tag; b lacks scores and has a truncated answer. */
function mixedSummary(): Summary {
  const header = aGroupHeader({
    group: 'demo-20260102T030405Z',
    runs: ['r1', 'r2'],
    questions: { key: 'questions/abc.jsonl', sha256: 'c'.repeat(64), count: 4 },
  });
  const builder = new SummaryBuilder(header, 0.98);
  for (const run of header.runs) {
    for (const id of ['q1', 'q2', 'q3', 'q4']) {
      const score = id === 'q1' || (id === 'q2' && run === 'r2') ? 1 : 0;
      const tags = { topic: id === 'q1' ? '=2+2|x' : 'words' };
      builder.add(
        aCellRow({
          run,
          config: 'a',
          id,
          score,
          tags,
          latencyMs: 1500,
          calls: [aCall({ costUsd: 0.25, latencyMs: 1500 })],
        }),
      );
    }
    const tags = { topic: 'words' };
    const cut = [aCall({ finishReason: 'length' })];
    builder.add(aCellRow({ run, config: 'b', id: 'q1', tags, calls: cut }));
    builder.add(aCellRow({ run, config: 'b', id: 'q2', outcome: 'unparsed', score: 0, tags }));
    builder.add(aRowWithoutScore('failed', { run, config: 'b', id: 'q3', tags }));
    builder.add(aRowWithoutScore('not-attempted', { run, config: 'b', id: 'q4', tags }));
  }
  return builder.build();
}

/** Three of four cells have a score; subtask navigate is complete, snarks is not. */
function thinSummary(coverageFloor: number): Summary {
  const header = aGroupHeader({ group: 'demo-20260102T030405Z', dataset: 'bbh' });
  const builder = new SummaryBuilder(header, coverageFloor);
  builder.add(aCellRow({ id: 'q1', tags: { subtask: 'snarks' } }));
  builder.add(aRowWithoutScore('failed', { id: 'q2', tags: { subtask: 'snarks' } }));
  builder.add(aCellRow({ id: 'q3', tags: { subtask: 'navigate' } }));
  builder.add(aCellRow({ id: 'q4', score: 0, tags: { subtask: 'navigate' } }));
  return builder.build();
}

function wholeSummary(): Summary {
  const header = aGroupHeader({ group: 'demo-20260102T030405Z' });
  const builder = new SummaryBuilder(header, 0.98);
  builder.add(aCellRow());
  return builder.build();
}

describe('the summary table', () => {
  it.each([
    ['text', 'summary.txt'],
    ['md', 'summary.md'],
    ['csv', 'summary.csv'],
  ] as const)(
    'withholds headlines below the floor and shows the bounds (%s)',
    async (form, file) => {
      await expect(renderSummary(mixedSummary(), form)).toMatchFileSnapshot(`${fixtures}/${file}`);
    },
  );

  it.each([
    ['text', 'by-topic.txt'],
    ['md', 'by-topic.md'],
    ['csv', 'by-topic.csv'],
  ] as const)('breaks down by a tag (%s)', async (form, file) => {
    await expect(renderTagTable(mixedSummary(), 'topic', form)).toMatchFileSnapshot(
      `${fixtures}/${file}`,
    );
  });

  it('withholds interval, averages and tag scores of a single replicate below the floor', () => {
    const summary = thinSummary(0.98);

    const tables = [renderSummary(summary, 'text'), renderTagTable(summary, 'subtask', 'csv')];

    expect(tables).toEqual([
      [
        'demo-20260102T030405Z: 1 question, 1 replicate',
        '',
        'config  score     bounds  coverage  n  p50 s  tokens in  tokens out  scored  failed',
        'direct      –  50.0–75.0      75.0  4    0.0         30           6       3       1',
        '',
        'score: the mean over scored and unparsed cells, an unparsed answer scoring 0; ungraded, failed and not attempted cells count only in coverage and bounds',
        'direct: score withheld, coverage is below the floor of 98.0 %',
        '',
        "direct: withheld (coverage 75.0 %) paper's 23 tasks (variants averaged)",
        "direct: withheld (coverage 75.0 %) paper's 12 NLP tasks",
        "direct: withheld (coverage 75.0 %) paper's 11 algorithmic tasks",
        'direct: withheld (coverage 75.0 %) mean over 2 of 27 subtasks',
        'direct: withheld (coverage 75.0 %) pooled over 3 answers',
        '',
      ].join('\n'),
      [
        'config,subtask,score,correct,withScore,cells,ruledWrong,ruledExcluded',
        'direct,snarks,,1,1,2,0,0',
        'direct,navigate,0.5,1,2,2,0,0',
        '',
      ].join('\n'),
    ]);
    for (const form of ['md', 'csv'] as const) {
      expect(renderSummary(summary, form)).not.toMatch(/20\.8|66\.7/);
    }
  });

  it('shows them if coverage reaches the floor', () => {
    const summary = thinSummary(0.5);

    const text = renderSummary(summary, 'text');

    expect(text).toContain('direct   66.7  20.8–93.9  50.0–75.0');
    expect(text).toContain('direct: 75.0000 mean over 2 of 27 subtasks');
    expect(text).toContain("direct: not given (set incomplete) paper's 12 NLP tasks");
    expect(renderTagTable(summary, 'subtask', 'csv')).toContain('direct,snarks,1,1,1,2');
  });

  it('folds a table that is wider than a line, and wraps its notes', () => {
    const text = renderSummary(wholeSummary(), 'text', { width: 40 });

    expect(text.split('\n').slice(0, 15)).toEqual([
      'demo-20260102T030405Z: 1 question, 1',
      '  replicate',
      '',
      'config  score        ci95       bounds',
      'direct  100.0  20.7–100.0  100.0–100.0',
      '',
      'config  coverage  n  p50 s  tokens in',
      'direct     100.0  1    0.0         10',
      '',
      'config  tokens out  scored',
      'direct           2       1',
      '',
      'score: the mean over scored and unparsed',
      '  cells, an unparsed answer scoring 0;',
      '  ungraded, failed and not attempted',
    ]);
    expect(text.split('\n').filter((line) => line.length > 40)).toEqual([]);
  });

  it('shows a cost of 0, as of answers that another group has bought, and omits one that is unknown', () => {
    const headOf = (costUsd: number | null) => {
      const builder = new SummaryBuilder(aGroupHeader({ group: 'demo-20260102T030405Z' }), 0.98);
      builder.add(aCellRow({ costUsd, calls: [aCall({ costUsd })] }));
      return renderSummary(builder.build(), 'text')
        .split('\n')
        .find((line) => line.startsWith('config'));
    };

    expect(headOf(0)).toMatch(/ cost /);
    expect(headOf(null)).not.toMatch(/ cost /);
  });

  it('omits columns without figures from the text form', () => {
    expect(renderSummary(wholeSummary(), 'text')).toBe(
      [
        'demo-20260102T030405Z: 1 question, 1 replicate',
        '',
        'config  score        ci95       bounds  coverage  n  p50 s  tokens in  tokens out  scored',
        'direct  100.0  20.7–100.0  100.0–100.0     100.0  1    0.0         10           2       1',
        '',
        'score: the mean over scored and unparsed cells, an unparsed answer scoring 0; ungraded, failed and not attempted cells count only in coverage and bounds',
        'ci95: 95 % confidence interval of the score; the replicates of a question count as a cluster',
        '',
      ].join('\n'),
    );
  });
});

describe('the table of probes', () => {
  const probes = { empty: 0, 'question-echoed': 0, padded: 1, 'yes-demanded': 0 };

  it('has what each probe changed, with its n and interval, and what was not probed', () => {
    const builder = new SummaryBuilder(aGroupHeader({ group: 'demo' }), 0);
    builder.add(aCellRow({ id: 'q1', score: 1, probes }));
    builder.add(aCellRow({ id: 'q2', score: 0, probes }));

    const text = renderSummary(builder.build(), 'text');

    expect(text).toContain(
      [
        'config  probe            n          changed  better  worse  p  before  after',
        'direct  empty            2  50.0 (9.5–90.5)       0      1  –    50.0    0.0',
        'direct  question-echoed  2  50.0 (9.5–90.5)       0      1  –    50.0    0.0',
        'direct  padded           2  50.0 (9.5–90.5)       1      0  1    50.0  100.0',
        'direct  yes-demanded     2  50.0 (9.5–90.5)       0      1  1    50.0    0.0\n',
      ].join('\n'),
    );
    expect(text).toContain(
      'direct: not probed: "swapped", which takes the answers of a second config',
    );
    expect(renderSummary(wholeSummary(), 'text')).not.toContain('probe');
  });
});

describe('the summaries of several groups', () => {
  const groups = [mixedSummary(), { ...thinSummary(0.5), group: 'other-20260102T030405Z' }].map(
    (summary) => ({ summary, baselines: [] }),
  );

  it.each([
    ['text', 'groups.txt'],
    ['md', 'groups.md'],
    ['csv', 'groups.csv'],
  ] as const)('are one table whose rows name their group (%s)', async (form, file) => {
    await expect(renderSummaries(groups, form)).toMatchFileSnapshot(`${fixtures}/${file}`);
  });

  it('name the group of a config that does not beat its best baseline', () => {
    const best = { baseline: 'empty', text: '', score: 0.5, n: 4 } as const;
    const beaten = { config: 'a', score: 0.375, baselines: [best], best, isAboveBest: false };

    const text = renderSummaries([{ summary: mixedSummary(), baselines: [beaten] }], 'md');

    expect(text).toContain(
      '\ndemo-20260102T030405Z a: 37.5 is no more than an empty answer, 50.0 (n 4)\n',
    );
  });

  it('are pure data as CSV, in which no name runs as a formula', () => {
    const [first] = mixedSummary().configs;
    const configs = first === undefined ? [] : [{ ...first, config: '@SUM(A1)' }];
    const summary = { ...mixedSummary(), group: '=1+1', configs };

    const lines = renderSummaries([{ summary, baselines: [] }], 'csv')
      .trimEnd()
      .split('\n');

    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^'=1\+1,'@SUM\(A1\),0\.375,/);
    expect(lines[0]?.split(',')).toHaveLength(lines[1]?.split(',').length ?? 0);
  });
});
