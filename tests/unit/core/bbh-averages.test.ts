import { describe, expect, it } from 'vitest';
import { bbhAverages } from '../../../packages/core/src/results/bbh-averages.ts';
import type { TagSummary } from '../../../packages/core/src/results/summary.ts';
import { summarizeTags, TagTally } from '../../../packages/core/src/results/tag-tally.ts';
import { extractBbhAnswer } from '../../../packages/core/src/scorers/bbh.ts';
import { readBbhCounts, readBbhRecordings } from '../../support/bbh-recordings.ts';
import { aCellRow } from '../../support/builders.ts';
import { hasSharedData } from '../../support/shared-data.ts';

describe("BIG-Bench Hard's averages", () => {
  it("leave the paper's unknown for an incomplete set and state what the others cover", () => {
    const averages = bbhAverages({ snarks: summaryOf(178, 89), navigate: summaryOf(250, 250) });

    expect(averages).toEqual([
      { name: 'paper-all-23', label: "paper's 23 tasks (variants averaged)", value: null },
      { name: 'paper-nlp-12', label: "paper's 12 NLP tasks", value: null },
      { name: 'paper-algorithmic-11', label: "paper's 11 algorithmic tasks", value: null },
      { name: 'macro', label: 'mean over 2 of 27 subtasks', value: 0.75 },
      { name: 'pooled', label: 'pooled over 428 answers', value: 339 / 428 },
    ]);
  });

  it('are unknown without answers', () => {
    const values = bbhAverages({}).map(({ value }) => value);

    expect(values).toEqual([null, null, null, null, null]);
  });
});

describe.runIf(hasSharedData)('the averages of the recorded outputs', () => {
  it('match the published averages for direct answers', () => {
    const { averages } = readBbhCounts();

    const values = averageRecordings('direct');

    expect(inPercent(values)).toEqual({
      'paper-all-23': averages.direct['all_23'],
      'paper-nlp-12': averages.direct['nlp_12'],
      'paper-algorithmic-11': averages.direct['algorithmic_11'],
      macro: averages.direct['macro_27'],
      pooled: averages.direct['micro'],
    });
  });

  it("leave the paper's unknown for the 13 chain-of-thought subtasks", () => {
    const values = averageRecordings('cot');

    expect(inPercent(values)).toMatchObject({
      'paper-all-23': null,
      'paper-nlp-12': null,
      'paper-algorithmic-11': null,
      pooled: readBbhCounts().averages.cot.micro_partial,
    });
    expect(values.map(({ label }) => label)).toContain('mean over 13 of 27 subtasks');
  });

  it("include the paper's only for the complete half of the tasks", () => {
    const bySubtask = tallyRecordings('direct');
    const { word_sorting: _, ...others } = bySubtask;

    const percent = inPercent(bbhAverages(others));

    expect(percent).toMatchObject({ 'paper-algorithmic-11': null, 'paper-all-23': null });
    expect(percent['paper-nlp-12']).toBe(readBbhCounts().averages.direct['nlp_12']);
  });

  it("leave the paper's unknown if one question was not asked", () => {
    const bySubtask = tallyRecordings('direct');
    const asked = summaryOf(177, 100);

    const percent = inPercent(bbhAverages({ ...bySubtask, snarks: asked }));

    expect(percent).toMatchObject({ 'paper-nlp-12': null, 'paper-all-23': null });
  });

  it("leave the paper's unknown if one question has no score", () => {
    const bySubtask = tallyRecordings('direct');
    const snarks = bySubtask['snarks'] ?? summaryOf(0, 0);

    const percent = inPercent(
      bbhAverages({ ...bySubtask, snarks: { ...snarks, scored: snarks.scored - 1 } }),
    );

    expect(percent).toMatchObject({ 'paper-nlp-12': null, 'paper-all-23': null });
    expect(percent['paper-algorithmic-11']).toBe(readBbhCounts().averages.direct['algorithmic_11']);
  });
});

function averageRecordings(arm: 'direct' | 'cot') {
  return bbhAverages(tallyRecordings(arm));
}

function tallyRecordings(arm: 'direct' | 'cot'): Readonly<Record<string, TagSummary>> {
  const tags = new TagTally();
  for (const { subtask, prediction, target } of readBbhRecordings(arm)) {
    const score = extractBbhAnswer(prediction) === target ? 1 : 0;
    tags.add(aCellRow({ score, tags: { subtask } }));
  }
  return summarizeTags([tags])['subtask'] ?? {};
}

function summaryOf(questions: number, correct: number): TagSummary {
  const score = questions === 0 ? null : correct / questions;
  const none = { unparsed: 0, ruledWrong: 0, ruledExcluded: 0 };
  return { questions, cells: questions, scored: questions, ...none, correct, score };
}

/** In the published form: percent with four decimals. */
function inPercent(
  averages: ReturnType<typeof bbhAverages>,
): Readonly<Record<string, number | null>> {
  return Object.fromEntries(
    averages.map(({ name, value }) => [
      name,
      value === null ? null : Number((100 * value).toFixed(4)),
    ]),
  );
}
