import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CellRow,
  finalizeGroup,
  type GroupHeader,
  renderSummary,
  type Summary,
  SummaryBuilder,
  seededRandom,
  summarySchema,
  verifyGroup,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CalibrationTally,
  calibrationTallySchema,
} from '../../../packages/core/src/results/calibration-tally.ts';
import { ReplicateTally } from '../../../packages/core/src/results/replicate-tally.ts';
import { summarizeCalibration } from '../../../packages/core/src/results/summarize-calibration.ts';
import { summaryStateSchema } from '../../../packages/core/src/results/summary-builder.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { parseQuestionRow } from '../../../packages/core/src/spec/questions/parse-question-row.ts';
import { tQuantile } from '../../../packages/core/src/statistics/student-t.ts';
import {
  aBenchmark,
  aCellRow,
  aConfig,
  aGroupHeader,
  aModelResponse,
  anError,
  anOutput,
  aPlannedConfig,
  aQuestion,
  aRecordedAnswer,
  aRowWithoutScore,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

const stated = (confidence: number | null, score: number, parts: Partial<CellRow> = {}) =>
  aCellRow({ confidence, score, ...parts });
const failed = aRowWithoutScore('failed');

const ratios = fc.oneof(
  fc.constantFrom(0, 0.5, 0.95, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const scoredRows = fc
  .tuple(fc.option(ratios), fc.oneof(fc.constantFrom(0, 1), ratios))
  .map(([confidence, score]) => stated(confidence, score));
const anyRows = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: scoredRows },
    fc.constantFrom(failed, aRowWithoutScore('ungraded'), aRowWithoutScore('not-attempted')),
  ),
  { minLength: 1, maxLength: 30 },
);

describe('calibration in the summary of a run', () => {
  it('is over the cells with a score and a confidence', () => {
    const figures = summarize([
      stated(0.9, 1),
      stated(0.6, 0),
      stated(0.8, 0, { outcome: 'unparsed' }),
      stated(null, 1),
      aRowWithoutScore('ungraded', { confidence: 0.1 }),
      failed,
    ]);

    const squares = 0.1 ** 2 + 0.6 ** 2 + 0.8 ** 2;
    expect(figures).toMatchObject({ nCal: 3, confidences: 4, hleCompat: null, auroc: 1 });
    expect(figures.brier).toBeCloseTo(squares / 3, 12);
    expect(figures.brierPess).toBeCloseTo((squares + 1) / 4, 12);
    expect(figures.ece).toBeCloseTo((0.1 + 0.6 + 0.8) / 3, 12);
  });

  it.each<[string, readonly CellRow[]]>([
    ['without a cell', []],
    ['where every cell failed', [failed, failed]],
    ['where no confidence is known', [stated(null, 1), stated(null, 0)]],
  ])('is unknown %s', (_, rows) => {
    const { nCal, brier, brierCi95, brierPess, ece, eceCi95, eceEqualMass, auroc } =
      summarize(rows);

    expect(nCal).toBe(0);
    for (const figure of [brier, brierCi95, brierPess, ece, eceCi95, eceEqualMass, auroc])
      expect(figure).toBeNull();
  });

  it('takes what a scorer calls right where scores are fractions, and the score else', () => {
    const rows = [stated(0.95, 0.775, { metrics: { right: 1 } }), stated(0.5, 0.5)];

    expect(summarize(rows).brier).toBeCloseTo(0.05 ** 2 / 2, 12);
  });
});

describe.skipIf(!hasSharedData)("SPARKIT's layouts", () => {
  interface Prediction {
    readonly id: string;
    readonly answer_text: string;
    readonly answer_confidence: number;
    readonly citation_count: number;
  }
  const read = <T>(name: string): T =>
    JSON.parse(readFileSync(join(sharedDataDir, 'sparkit', name), 'utf8')) as T;

  it.each([
    ['sparkit_demo_20261120T085023Z/predictions_single_openai', 0.0025, 0.05, 0.335],
    ['sparkit_demo_20261120T085023Z/predictions_single_grok', 0.0025, 0.05, 0.335],
    ['direct_demo_20261120T085023Z/predictions_direct_openai', 0.53, 0.7, 2.06 / 3],
    ['direct_demo_20261120T085023Z/predictions_direct_grok', 0.53, 0.7, 2.06 / 3],
  ])('have the default figures: %s', async (name, brier, ece, brierPess) => {
    const questions = read<object[]>('stem_exam_200_sample.questions.json').flatMap(
      (row) => parseQuestionRow(row).question ?? [],
    );

    const rows = await Promise.all(
      read<Prediction[]>(`layout_fixture/${name}.json`).map(async (prediction) => {
        const { id, answer_text: text, answer_confidence: confidence } = prediction;
        if (text === '') return aRowWithoutScore('failed', { id });
        const question = questions.find((each) => each.id === id) ?? aQuestion();
        const citations = Array.from({ length: prediction.citation_count }, (_, at) => at);
        const output = JSON.stringify({ answer_text: text, citations });
        const { error: _, ...grade } = await gradeAnswer(
          { kind: 'keyword', parser: 'sparkit' },
          question,
          aRecordedAnswer({ output }),
          { userCode: inProcessPatterns },
        );
        return aCellRow({ id, ...grade, metrics: grade.metrics ?? {}, confidence });
      }),
    );

    const figures = summarize(rows);
    expect(rows.map(({ outcome }) => outcome)).toEqual(['scored', 'scored', 'failed']);
    expect(figures.nCal).toBe(2);
    expect(figures.brier).toBeCloseTo(brier, 12);
    expect(figures.ece).toBeCloseTo(ece, 12);
    expect(figures.brierPess).toBeCloseTo(brierPess, 12);
    expect(figures.coverage).toBeCloseTo(2 / 3, 12);
  });
});

describe('a failure', () => {
  it('in place of an answer improves no bound, and nothing else without less coverage', () => {
    const cases = anyRows
      .filter((rows) => rows.some(({ score }) => score !== null))
      .chain((rows) =>
        fc.tuple(
          fc.constant(rows),
          fc.constantFrom(...rows.flatMap(({ score }, at) => (score === null ? [] : [at]))),
          fc.constantFrom(0, 0.5, 0.98),
        ),
      );
    fc.assert(
      fc.property(cases, ([rows, at, floor]) => {
        const before = summarize(rows, floor);

        const after = summarize(rows.with(at, failed), floor);

        expect(after.scoreLower).toBeLessThanOrEqual(Number(before.scoreLower) + 1e-12);
        // Without a confidence left, it is unknown.
        if (after.nCal > 0)
          expect(after.brierPess).toBeGreaterThanOrEqual(Number(before.brierPess) - 1e-12);
        expect(after.coverage).toBeLessThan(Number(before.coverage));
        expect(after.headline === null).toBe(
          Number(after.coverage) < floor || after.score === null,
        );
        // The others are of fewer cells, and say so.
        const isStated = rows[at]?.confidence !== null;
        expect(before.nCal - after.nCal).toBe(Number(isStated));
        if (!isStated) expect(calibrationOf(after)).toEqual(calibrationOf(before));
      }),
      { numRuns: 500 },
    );
  });

  it('of every answer leaves the calibration unknown, and not perfect', () => {
    const rows = [stated(0.9, 0), stated(0.8, 1)];

    expect(summarize(rows.map(() => failed))).toMatchObject({
      brier: null,
      ece: null,
      coverage: 0,
    });
    // As in SPARKIT, whose confidence of 0 for a failure is right each time.
    expect(summarize(rows).brier).toBeGreaterThan(0);
  });
});

describe('the tally of calibration', () => {
  it('gives the same figures in any order, in parts, and added up', () => {
    const cases = anyRows.chain((rows) =>
      fc.tuple(
        fc.constant(rows),
        fc.shuffledSubarray(rows, { minLength: rows.length }),
        fc.nat(rows.length),
      ),
    );
    fc.assert(
      fc.property(cases, ([rows, shuffled, at]) => {
        const whole = tallyOf(rows);
        const first = tallyOf(shuffled.slice(0, at)).state();
        const second = tallyOf(shuffled.slice(at)).state();

        const state = calibrationTallySchema.parse(JSON.parse(JSON.stringify(first)));
        const continued = new CalibrationTally(state);
        for (const row of shuffled.slice(at)) continued.add(row);

        expect(continued.state()).toEqual(whole.state());
        expect(new CalibrationTally(first, second).state()).toEqual(whole.state());
      }),
    );
  });

  it('stays small: confidences and scores of many digits are rounded to hundredths', () => {
    const random = seededRandom('digits');
    const rows = Array.from({ length: 30_000 }, () => stated(random(), random()));

    const tally = tallyOf(rows);

    expect(JSON.stringify(tally.state()).length).toBeLessThan(200_000);
    expect(tallyOf(rows.toReversed()).state()).toEqual(tally.state());
    const halves = [tallyOf(rows.slice(0, 4_000)), tallyOf(rows.slice(4_000))];
    expect(halves.map((each) => each.state().isRounded)).toEqual([false, true]);
    const added = new CalibrationTally(...halves.map((each) => each.state()));
    expect(added.state()).toEqual(tally.state());
    const exact = rows.map(({ confidence, score }) => ({
      confidence: confidence ?? 0,
      outcome: score ?? 0,
      count: 1,
    }));
    const [rounded, unrounded] = [tally.forecasts(), exact].map((each) =>
      summarizeCalibration(each, 0),
    );
    for (const name of ['brier', 'ece', 'eceEqualMass', 'reliability'] as const)
      expect(rounded?.[name]).toBeCloseTo(unrounded?.[name] ?? -1, 3);
  });

  it('goes on rounding after a part', () => {
    const random = seededRandom('parts');
    const rows = Array.from({ length: 9_000 }, () => stated(random(), Number(random() < 0.5)));
    const first = tallyOf(rows.slice(0, 6_000)).state();

    const continued = new CalibrationTally(first);
    for (const row of rows.slice(6_000)) continued.add(row);

    expect(first.pairs.length).toBeLessThanOrEqual(202);
    expect(continued.state()).toEqual(tallyOf(rows).state());
  });

  it('of 300,000 cells with confidences as models state them has a state of a few KB', () => {
    const header = aGroupHeader({ runs: ['r1', 'r2', 'r3'] });
    const builder = new SummaryBuilder(header, 0.98);
    const random = seededRandom('models');
    const percents = Array.from({ length: 101 }, (_, percent) =>
      [0, 1].map((score) => stated(percent / 100, score)),
    ).flat();
    for (const run of header.runs)
      for (let index = 0; index < 100_000; index += 1) {
        const row = percents[Math.floor(random() * percents.length)];
        if (row !== undefined) builder.add({ ...row, run });
      }

    const { tallies, clusters } = summaryStateSchema.parse(builder.state());

    for (const { replicate } of tallies)
      expect(JSON.stringify(replicate.calibration).length).toBeLessThan(4_000);
    const [{ calibration } = { calibration: [] }] = clusters;
    expect(calibration).toHaveLength(256);
    expect(JSON.stringify(calibration).length).toBeLessThan(70_000);
    const [config] = builder.build().configs;
    expect(config?.calibration?.nCal).toBe(300_000);
  });
});

describe('calibration over replicates', () => {
  const header = aGroupHeader({ runs: ['r1', 'r2', 'r3'] });
  const build = (rowOf: (run: number, index: number) => CellRow, count = 200): Summary => {
    const builder = new SummaryBuilder(header, 0.98);
    for (const [at, run] of header.runs.entries())
      for (let index = 0; index < count; index += 1)
        builder.add({ ...rowOf(at, index), run, id: `q${index}` });
    return summarySchema.parse(JSON.parse(JSON.stringify(builder.build())));
  };

  it('has mean and sample variance of each figure, and no moments of intervals', () => {
    // SPARKIT's example: 50, 52 and 57 of 100.
    const rights = [50, 52, 57];
    const { configs } = build((run, index) => stated(0.5, Number(index < (rights[run] ?? 0))), 100);

    const [config] = configs;
    if (config === undefined) throw new Error('expected a config');
    const { mean, variance, replicates } = config;
    expect(mean['score']).toBeCloseTo(0.53, 12);
    expect(variance['score']).toBeCloseTo(0.0013, 12);
    const deviation = Math.sqrt(Number(variance['score']) / 3);
    expect(tQuantile(0.975, 2) * deviation).toBeCloseTo(0.089567, 6);
    expect(mean['ece']).toBeCloseTo((0 + 0.02 + 0.07) / 3, 12);
    expect(variance['ece']).toBeCloseTo(0.0013, 12);
    expect(replicates[0]?.eceCi95?.[0]).toBe(0);
    const without = build(() => stated(null, 1)).configs[0]?.mean ?? {};
    for (const moments of [mean, without])
      expect(Object.keys(moments).filter((name) => /ci95/i.test(name))).toEqual([]);
  });

  it.each<[string, readonly number[]]>([
    ['too high', [0.9]],
    ['too high and too low', [0.9, 0.2]],
  ])(
    'pools all cells, with intervals that know how alike the answers to a question are: %s',
    (_, confidences) => {
      const random = seededRandom('apart');
      const outcomes = Array.from({ length: 600 }, () => Number(random() < 0.6));
      const confidenceOf = (index: number) => confidences[index % confidences.length] ?? 0;
      const apart = build((run, at) => stated(confidenceOf(at), outcomes[run * 200 + at] ?? 0));
      const alike = build((_run, at) => stated(confidenceOf(at), outcomes[at] ?? 0));

      const [each, same] = [apart, alike].map(({ configs }) => configs[0]?.calibration);
      const [firstRun] = alike.configs[0]?.replicates ?? [];
      expect([each?.nCal, same?.nCal]).toEqual([600, 600]);
      for (const name of ['brierCi95', 'eceCi95'] as const) {
        const widthOf = ([lower, upper]: readonly number[] = []) => (upper ?? 0) - (lower ?? 0);
        // Three answers that are the same are worth about one.
        const single = widthOf(firstRun?.[name] ?? []);
        expect(widthOf(same?.[name] ?? []) / single).toBeCloseTo(1, 1);
        expect(widthOf(each?.[name] ?? []) / single).toBeCloseTo(Math.sqrt(1 / 3), 1);
      }
    },
  );

  it('has no interval for one question, whose replicates may depend on each other in any way', () => {
    const [config] = build((_, index) => stated(0.9, Number(index === 0)), 1).configs;

    expect(config?.calibration).toMatchObject({ nCal: 3, brierCi95: null, eceCi95: null });
  });

  it('is continued from the state of another builder', () => {
    const random = seededRandom('continued');
    const rows = header.runs.flatMap((run) =>
      Array.from({ length: 300 }, (_, index) =>
        stated(Math.round(random() * 20) / 20, Number(random() < 0.7), { run, id: `q${index}` }),
      ),
    );
    const whole = new SummaryBuilder(header, 0.98);
    for (const row of rows) whole.add(row);
    const first = new SummaryBuilder(header, 0.98);
    for (const row of rows.slice(0, 450)) first.add(row);

    const from = summaryStateSchema.parse(JSON.parse(JSON.stringify(first.state())));
    const second = new SummaryBuilder(header, 0.98, { from });
    for (const row of rows.slice(450)) second.add(row);

    expect(second.build()).toEqual(whole.build());
  });

  it('reads summaries from before it', () => {
    const summary = build((_, index) => stated(0.9, index % 2));
    const older = {
      ...summary,
      configs: summary.configs.map(({ calibration, ...config }) => ({
        ...config,
        replicates: config.replicates.map(
          ({
            nCal,
            brierCi95,
            reliability,
            resolution,
            uncertainty,
            withinBins,
            brierPess,
            eceCi95,
            auroc,
            ...replicate
          }) => replicate,
        ),
      })),
    };

    const read = summarySchema.parse(older);

    expect(read.configs[0]?.replicates[0]).toMatchObject({ nCal: 0, brierPess: null });
  });
});

describe('the table of a summary', () => {
  const header = aGroupHeader({
    group: 'demo',
    configs: ['sure', 'plain'].map((config) => aPlannedConfig({ config })),
  });
  const tableOf = (rows: readonly CellRow[], form: 'text' | 'md' | 'csv') => {
    const builder = new SummaryBuilder(header, 0);
    for (const row of rows) builder.add(row);
    return renderSummary(builder.build(), form);
  };
  const sure = [stated(0.9, 1), stated(0.6, 0)].map((row) => ({ ...row, config: 'sure' }));
  const plain = [stated(null, 1), stated(null, 0)].map((row) => ({ ...row, config: 'plain' }));

  it('has the Brier score, the ECE and their number of cells, where a config has confidences', () => {
    const text = tableOf([...sure, ...plain], 'text');

    expect(text).toMatch(/ confidence +brier +ece +n cal /u);
    expect(text).toMatch(/sure .* 75\.0 +0\.185 +0\.350 +2 /u);
    expect(text).toMatch(/plain .* – +– +– +0 /u);
    expect(text).toContain('\nbrier: the mean squared distance between confidence and score');
    expect(tableOf([...sure, ...plain], 'md')).toMatch(/\| 0\.185 \| 0\.350 \| +2 \|/u);
    expect(tableOf([...sure, ...plain], 'csv')).toMatch(/,0\.75,0\.185,0\.35,2,/u);
  });

  it('is no wider where none has', () => {
    for (const form of ['text', 'md'] as const)
      expect(tableOf(plain, form)).not.toMatch(/brier|ece|n cal/u);
  });

  it('says which config always states the same confidence', () => {
    const constant = [stated(0.5, 1), stated(0.5, 0)].map((row) => ({ ...row, config: 'sure' }));
    const warning =
      'sure: all 2 answers state the confidence 0.5: it does not tell right ones from wrong ones';

    for (const form of ['text', 'md'] as const) {
      expect(tableOf(constant, form)).toContain(warning);
      expect(tableOf(sure, form)).not.toContain('state the confidence');
      expect(tableOf(constant.slice(0, 1), form)).not.toContain('state the confidence');
    }
  });
});

describe('published figures of calibration', () => {
  const answerOf: FakeAnswer = ({ cell }) => {
    const text = {
      right: '{"answer": "42", "confidence": 0.85}',
      wrong: '{"answer": "41", "confidence": 0.95}',
    }[cell.id];
    if (text === undefined) return anError('invalid-request');
    return aModelResponse({ output: anOutput({ text }) });
  };
  const configs = [aConfig({ confidence: 'structured', parser: 'asked' })];

  async function published() {
    const engine = new FakeEngine({
      benchmark: aBenchmark({ replicates: 2, configs }),
      answer: answerOf,
    });
    const header: GroupHeader = await engine.plan(
      ['right', 'wrong', 'broken'].map((id) => aQuestion({ id })),
    );
    await engine.workAll();
    await finalizeGroup({ header, benchmark: engine.benchmark, state: 'active' }, engine, {
      earlyEnd: undefined,
    });
    return { engine, header, key: `runs/${header.group}/summary.json` };
  }

  it('are found by verify with one digit changed, each of them', async () => {
    const { engine, header, key } = await published();
    const text = engine.blobs.texts.get(key) ?? '';
    const { mismatches: before } = await verifyGroup(header, engine.benchmark, engine);
    const { configs: summaries } = summarySchema.parse(JSON.parse(text));
    const [summary] = summaries;
    const figures = [
      ...Object.values(summary?.calibration ?? {}),
      summary?.replicates[0]?.brier,
      summary?.mean['ece'],
    ]
      .flat()
      .filter((figure) => typeof figure === 'number');

    expect(before).toEqual([]);
    expect(figures.length).toBeGreaterThan(12);
    const lines = text.split('\n');
    const changed = lines.flatMap((line, at) => {
      const [, name = '', value] = /^ *("\w+": )?(-?\d[^,]*),?$/u.exec(line) ?? [];
      if (!figures.includes(Number(value))) return [];
      const nextDigit = (digit: string) => String((Number(digit) + 1) % 10);
      return [
        lines.with(
          at,
          `${name}${value?.replace(/\d/u, nextDigit)}${line.endsWith(',') ? ',' : ''}`,
        ),
      ];
    });
    expect(changed.length).toBeGreaterThan(figures.length);
    for (const edited of changed) {
      await engine.blobs.write(key, [edited.join('\n')]);
      const { mismatches } = await verifyGroup(header, engine.benchmark, engine);
      expect(mismatches).toEqual([expect.stringContaining(`${key}: configs.0.`)]);
    }
  });
});

function summarize(rows: readonly CellRow[], coverageFloor = 0.98) {
  const tally = new ReplicateTally('demo-r1');
  for (const row of rows) tally.add(row);
  return tally.summarize(coverageFloor);
}

function calibrationOf({ brier, ece, eceEqualMass, auroc }: ReturnType<typeof summarize>) {
  return { brier, ece, eceEqualMass, auroc };
}

function tallyOf(rows: readonly CellRow[]): CalibrationTally {
  const tally = new CalibrationTally();
  for (const row of rows) tally.add(row);
  return tally;
}
