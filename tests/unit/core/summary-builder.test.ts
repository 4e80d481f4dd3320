import { type CellRow, type GroupHeader, SummaryBuilder, summarySchema } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { summaryStateSchema } from '../../../packages/core/src/results/summary-builder.ts';
import {
  aCall,
  aCellRow,
  aGroupHeader,
  aPlannedConfig,
  aRowWithoutScore,
} from '../../support/builders.ts';

describe('a summary', () => {
  it('names its group and benchmark', () => {
    const header = aGroupHeader();

    const summary = build([aCellRow()], { header });

    expect(summarySchema.parse(summary)).toMatchObject({
      schemaVersion: 1,
      group: 'demo',
      benchmark: 'demo',
      questions: 1,
      specSha256: header.specSource.sha256,
      questionsSha256: header.questions.sha256,
      coverageFloor: 0.98,
    });
  });

  it('lists planned configs in the order of the plan, whichever has the first row', () => {
    const configs = ['a', 'b'].map((config) => aPlannedConfig({ config }));
    const header = aGroupHeader({ configs });

    const summary = build([aCellRow({ config: 'b' }), aCellRow({ config: 'a' })], { header });

    expect(summary.configs.map(({ config }) => config)).toEqual(['a', 'b']);
  });

  it('lists each config with its replicates, in the order of their rows', () => {
    const summary = build([
      aCellRow({ config: 'b', run: 'demo-r1' }),
      aCellRow({ config: 'a', run: 'demo-r1', score: 0 }),
      aCellRow({ config: 'b', run: 'demo-r2', score: 0 }),
    ]);

    const replicates = summary.configs.map(({ config, replicates: each }) => [
      config,
      each.map(({ run, score }) => [run, score]),
    ]);
    expect(replicates).toEqual([
      [
        'b',
        [
          ['demo-r1', 1],
          ['demo-r2', 0],
        ],
      ],
      ['a', [['demo-r1', 0]]],
    ]);
    expect(summary.configs[0]?.mean['score']).toBe(0.5);
    expect(summary.configs[0]?.variance['score']).toBe(0.5);
    expect(summary.configs[1]?.variance['score']).toBeNull();
  });

  it('pools tags over replicates and counts their questions once', () => {
    const tags = { subtask: 'snarks' };

    const summary = build([
      aCellRow({ run: 'demo-r1', tags }),
      aRowWithoutScore('failed', { run: 'demo-r2', tags }),
    ]);

    expect(summary.configs[0]?.byTag['subtask']?.['snarks']).toEqual({
      questions: 1,
      cells: 2,
      scored: 1,
      unparsed: 0,
      ruledWrong: 0,
      ruledExcluded: 0,
      correct: 1,
      score: 1,
    });
  });

  it('withholds the headline below its floor', () => {
    const rows = [aCellRow(), aRowWithoutScore('failed')];

    const strict = build(rows, { coverageFloor: 0.6 });
    const lenient = build(rows, { coverageFloor: 0.5 });

    expect(strict.configs[0]?.replicates[0]?.headline).toBeNull();
    expect(lenient.configs[0]?.replicates[0]?.headline).toBe(1);
  });

  it('has the averages of its dataset, and none without one', () => {
    const rows = [aCellRow({ tags: { subtask: 'snarks' } })];

    const plain = build(rows);
    const bbh = build(rows, { header: aGroupHeader({ dataset: 'bbh' }) });

    expect(plain.configs[0]?.averages).toEqual([]);
    expect(bbh.configs[0]?.averages.map(({ name, value }) => [name, value])).toEqual([
      ['paper-all-23', null],
      ['paper-nlp-12', null],
      ['paper-algorithmic-11', null],
      ['macro', 1],
      ['pooled', 1],
    ]);
  });

  it('withholds the averages of a config with a replicate below the floor', () => {
    const tags = { subtask: 'snarks' };
    const rows = [
      aCellRow({ run: 'demo-r1', tags }),
      aCellRow({ run: 'demo-r2', tags }),
      aRowWithoutScore('failed', { run: 'demo-r2', id: 'q2', tags }),
    ];
    const header = aGroupHeader({ dataset: 'bbh' });

    const strict = build(rows, { header, coverageFloor: 0.51 });
    const lenient = build(rows, { header, coverageFloor: 0.5 });

    const labels = (summary: typeof strict) =>
      summary.configs[0]?.averages.map((each) => each.label);
    const values = (summary: typeof strict) =>
      summary.configs[0]?.averages.map((each) => each.value);
    expect(values(strict)).toEqual([null, null, null, null, null]);
    expect(values(lenient)).toEqual([null, null, null, 1, 1]);
    expect(labels(strict)).toEqual(labels(lenient));
  });

  it('has an interval over all replicates, in which those of a question count as a cluster', () => {
    const header = aGroupHeader({ runs: ['demo-r1', 'demo-r2'] });
    const scores = { q1: [1, 1], q2: [1, 0], q3: [0, 0], q4: [0, 0] };
    const rows = header.runs.flatMap((run, index) =>
      Object.entries(scores).map(([id, each]) => aCellRow({ run, id, score: each[index] ?? null })),
    );

    const [config] = build(rows, { header }).configs;

    // Sums 2, 1, 0, 0 of 2 each, mean 3/8: sqrt((1.25^2 + 0.25^2 + 0.75^2 + 0.75^2) * 4/3) / 8.
    expect(config?.stderr).toBeCloseTo(0.2393567769, 10);
    // Wilson of 1.5517 trials: (1.96 / 3.182)^2 * (3/8 * 5/8) / 0.2393567769^2.
    expect(config?.ci95?.[0]).toBeCloseTo(0.0459, 4);
    expect(config?.ci95?.[1]).toBeCloseTo(0.8822, 4);
  });

  it('counts a question as the same cluster in each run, also after one that was not attempted', () => {
    const header = aGroupHeader({ runs: ['demo-r1', 'demo-r2'] });
    const scores = { q1: [null, 1], q2: [1, 0], q3: [0, 0], q4: [0, 0] };
    const rows = header.runs.flatMap((run, index) =>
      Object.entries(scores).map(([id, each]) => {
        const score = each[index] ?? null;
        return score === null
          ? aRowWithoutScore('not-attempted', { run, id })
          : aCellRow({ run, id, score });
      }),
    );

    const [config] = build(rows, { header }).configs;

    // Sums 1, 1, 0, 0 of 1, 2, 2, 2, mean 2/7: sqrt((5/7)^2 + (3/7)^2 + 2 (4/7)^2) * sqrt(4/3) / 7.
    expect(config?.stderr).toBeCloseTo(0.1914455412, 9);
  });

  it('has the interval of its only replicate', () => {
    const [config] = build([aCellRow(), aCellRow({ id: 'q2', score: 0 })]).configs;

    expect(config?.ci95).toEqual(config?.replicates[0]?.ci95);
    expect(config?.stderr).toBe(0.5);
  });

  it('is empty without rows', () => {
    expect(summarySchema.parse(build([])).configs).toEqual([]);
  });
});

describe('a summary that is built in parts', () => {
  const anyRow = fc
    .record({
      run: fc.constantFrom('demo-r1', 'demo-r2'),
      config: fc.constantFrom('a', 'b'),
      score: fc.double({ min: 0, max: 1, noNaN: true }),
      latencyMs: fc.oneof(
        fc.integer({ min: 0, max: 5 }),
        fc.double({ min: 0, max: 9, noNaN: true }),
      ),
      kind: fc.constantFrom('x', 'y'),
      model: fc.constantFrom('m', 'n', null),
      costUsd: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 9 }),
    })
    .map(({ kind, model, costUsd, ...row }) =>
      aCellRow({ ...row, tags: { kind }, calls: [aCall({ servedModel: model, costUsd })] }),
    );
  const configs = ['a', 'b'].map((config) => aPlannedConfig({ config }));
  const header = aGroupHeader({ configs, runs: ['demo-r1', 'demo-r2'] });

  it('is the same, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 40 }), fc.nat({ max: 40 }), (rows, cut) => {
        const whole = new SummaryBuilder(header, 0);
        for (const row of rows) whole.add(row);
        const first = new SummaryBuilder(header, 0);
        for (const row of rows.slice(0, cut)) first.add(row);

        const from = summaryStateSchema.parse(JSON.parse(JSON.stringify(first.state())));
        const second = new SummaryBuilder(header, 0, { from });
        for (const row of rows.slice(cut)) second.add(row);

        expect(second.build()).toEqual(whole.build());
        expect(second.build('demo-r2')).toEqual(whole.build('demo-r2'));
      }),
    );
  });

  it('is the same if less is kept of what has ended', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 40 }), (rows) => {
        const whole = new SummaryBuilder(header, 0);
        for (const row of rows) whole.add(row);
        const expected = whole.build();

        for (const run of header.runs) for (const { config } of configs) whole.end(run, config);
        const from = summaryStateSchema.parse(JSON.parse(JSON.stringify(whole.state())));

        expect(new SummaryBuilder(header, 0, { from }).build()).toEqual(expected);
        const kept = from.tallies.map(({ replicate }) => Array.isArray(replicate.latencies));
        expect(kept.every((isKept) => !isKept)).toBe(true);
      }),
    );
  });

  it('keeps one number for all cells of the same latency', () => {
    const builder = new SummaryBuilder(header, 0);
    for (let no = 0; no < 1_000; no += 1) builder.add(aCellRow({ config: 'a', latencyMs: no % 7 }));

    expect(builder.state().tallies[0]?.replicate.latencies).toHaveLength(7);
  });
});

function build(
  rows: readonly CellRow[],
  init: { readonly header?: GroupHeader; readonly coverageFloor?: number } = {},
) {
  const builder = new SummaryBuilder(init.header ?? aGroupHeader(), init.coverageFloor ?? 0.98);
  for (const row of rows) builder.add(row);
  return builder.build();
}
