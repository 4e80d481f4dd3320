import {
  compareWithGold,
  goldRowSchema,
  type JudgedItem,
  readJudgedItems,
  reportJudges,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aJournalEntry } from '../../support/builders.ts';
import { aJudgedBenchmark, aVerdict, judgeScorer } from '../../support/judged-benchmark.ts';

/** An answer to a question with what two judges say of it, the first one asked twice. */
function anItem(
  id: string,
  scores: readonly number[],
  parts: Partial<JudgedItem> = {},
): JudgedItem {
  const judges = ['lab/a', 'lab/a', 'lab/b'];
  const verdicts = scores.map((score, index) => ({ judge: judges[index] ?? '', score }));
  return { run: 'demo-r1', id, config: 'direct', criterion: undefined, verdicts, ...parts };
}

const items = [
  anItem('q1', [1, 1, 1]),
  anItem('q2', [1, 0, 0]),
  anItem('q3', [0, 0, 1]),
  anItem('q1', [0, 0, 1], { config: 'other' }),
  anItem('q2', [1, 1], { config: 'other' }),
  anItem('q3', [1, 0], { config: 'other' }),
];

describe('the report of judges', () => {
  const report = reportJudges(items);

  it('counts answers, verdicts and ties, over all configs and for each', () => {
    expect(report.overall).toMatchObject({ itemCount: 6, verdictCount: 16, tiedCount: 1 });
    expect(report.configs).toMatchObject([
      { config: 'direct', itemCount: 3, verdictCount: 9, tiedCount: 0 },
      { config: 'other', itemCount: 3, verdictCount: 7, tiedCount: 1 },
    ]);
  });

  it('says which share of the pairs of verdicts differs', () => {
    expect(report.configs[0]?.flipRate?.value).toBeCloseTo(4 / 9, 12);
    expect(report.configs[1]?.flipRate?.value).toBeCloseTo(3 / 5, 12);
    expect(report.overall.flipRate?.value).toBeCloseTo(7 / 14, 12);
  });

  it("says how often each judge agrees with the panel, without the panel's ties", () => {
    expect(
      report.judges.map(({ judge, verdictCount, agreement }) => [
        judge,
        verdictCount,
        agreement?.value,
      ]),
    ).toEqual([
      ['lab/a', 12, 9 / 10],
      ['lab/b', 4, 2 / 4],
    ]);
  });

  it('ranks the configs by each judge alone', () => {
    expect(report.judges.map(({ configs }) => configs)).toEqual([
      [
        { config: 'direct', score: 0.5, rank: 1 },
        { config: 'other', score: 0.5, rank: 1 },
      ],
      [
        { config: 'direct', score: 2 / 3, rank: 2 },
        { config: 'other', score: 1, rank: 1 },
      ],
    ]);
  });

  it('has the same intervals each time, around its figures', () => {
    expect(reportJudges(items)).toEqual(report);
    for (const figure of [report.overall.flipRate, report.judges[0]?.agreement]) {
      expect(figure?.lower).toBeLessThanOrEqual(figure?.value ?? -1);
      expect(figure?.upper).toBeGreaterThanOrEqual(figure?.value ?? 2);
    }
  });

  it('knows nothing of agreement where each answer has one verdict', () => {
    const alone = reportJudges([anItem('q1', [1]), anItem('q2', [0])]);

    expect(alone.overall).toMatchObject({ itemCount: 2, flipRate: null, kappa: null });
    expect(alone.judges.map(({ agreement }) => agreement)).toEqual([null]);
    expect(reportJudges([])).toEqual({
      overall: { itemCount: 0, verdictCount: 0, tiedCount: 0, flipRate: null, kappa: null },
      configs: [],
      judges: [],
    });
  });
});

describe('a gold file', () => {
  const gold = (id: string, correct: boolean, parts = {}) =>
    goldRowSchema.parse({ id, config: 'direct', correct, ...parts });

  it('gives the accuracy and the kappa of the panel and of each judge', () => {
    const { panel, judges, unmatchedCount } = compareWithGold(items, [
      gold('q1', true),
      gold('q2', false),
      gold('q3', true),
      gold('q9', true),
    ]);

    expect(unmatchedCount).toBe(1);
    expect(panel).toMatchObject({ answerCount: 3, accuracy: { value: 2 / 3 } });
    // Observed 2/3, by chance 4/9.
    expect(panel.kappa?.value).toBeCloseTo(0.4, 12);
    expect(
      judges.map(({ judge, answerCount, accuracy }) => [judge, answerCount, accuracy?.value]),
    ).toEqual([
      // Its two verdicts on q2 are a tie.
      ['lab/a', 2, 1 / 2],
      ['lab/b', 3, 1],
    ]);
  });

  it('is about the first run that was judged, unless it names another', () => {
    const runs = [anItem('q1', [1]), anItem('q1', [0], { run: 'demo-r2' })];

    const accuracyOf = (run?: string) =>
      compareWithGold(runs, [gold('q1', true, { run })]).panel.accuracy?.value;

    expect([accuracyOf(), accuracyOf('demo-r1'), accuracyOf('demo-r2')]).toEqual([1, 1, 0]);
  });

  it('says nothing of single criteria, which nobody has labelled', () => {
    const report = compareWithGold([anItem('q1', [1], { criterion: 0 })], [gold('q1', true)]);

    expect(report).toMatchObject({ panel: { answerCount: 0, accuracy: null }, unmatchedCount: 1 });
  });
});

describe('the verdicts in a journal', () => {
  const verdictsOf = (
    scorer: typeof judgeScorer,
    replies: readonly (readonly [string, string])[],
  ) => {
    const [gradeConfig] = aJudgedBenchmark(scorer).gradeConfigs;
    if (gradeConfig === undefined) throw new Error('expected a config that grades');
    const journal = new Map(
      replies.map(([step, text]) => [
        step,
        aJournalEntry({ step, text, call: { lane: 'court', model: step.slice(0, 7) } }),
      ]),
    );
    return readJudgedItems({ run: 'demo-r1', id: 'q1' }, gradeConfig, journal);
  };

  it('are those of the answer that the cell grades, each with its judge', () => {
    const read = verdictsOf(judgeScorer, [
      ['judge-1', aVerdict(true)],
      ['judge-2', aVerdict(false)],
      ['judge-3', 'nonsense'],
      ['answer', aVerdict(true)],
    ]);

    expect(read).toEqual([
      {
        run: 'demo-r1',
        id: 'q1',
        config: 'direct',
        criterion: undefined,
        verdicts: [
          { judge: 'court/judge-1', score: 1 },
          { judge: 'court/judge-2', score: 0 },
        ],
      },
    ]);
  });

  it('of a rubric are told apart by criterion', () => {
    const read = verdictsOf({ kind: 'rubric', model: 'court/judge' }, [
      ['judge-1-criterion-1', 'score: 1'],
      ['judge-2-criterion-1', 'score: 0.25'],
      ['judge-1-criterion-2', 'score: 0'],
    ]);

    expect(
      read.map(({ criterion, verdicts }) => [criterion, verdicts.map(({ score }) => score)]),
    ).toEqual([
      [0, [1, 0.25]],
      [1, [0]],
    ]);
  });

  it('are none where nobody was asked', () => {
    expect(verdictsOf(judgeScorer, [])).toEqual([]);
  });
});
