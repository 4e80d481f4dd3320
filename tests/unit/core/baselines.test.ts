import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Config,
  compareWithBaselines,
  countBaselines,
  type Question,
  renderSummary,
  type Summary,
  SummaryBuilder,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Baseline, bestBaseline } from '../../../packages/core/src/results/baseline-report.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { readBbhCounts } from '../../support/bbh-recordings.ts';
import {
  aCellRow,
  aConfig,
  aGroupHeader,
  aPlannedConfig,
  aQuestion,
  aRecordedAnswer,
  aRowWithoutScore,
} from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

/** Three questions with choices. "C" is right twice, the longest choice once. */
const choiceQuestions = [
  aChoiceQuestion('q1', ['red', 'dark green', 'blue'], 'C'),
  aChoiceQuestion('q2', ['cat', 'dog', 'a bird'], 'C'),
  aChoiceQuestion('q3', ['one', 'two', 'three', 'four'], 'A'),
];

function aChoiceQuestion(id: string, choices: string[], target: string): Question {
  return aQuestion({ id, question: `Question ${id}?`, choices, target: [target] });
}

function headerOf(questions: readonly Question[], configs: readonly Config[]) {
  return aGroupHeader({
    questions: { key: 'questions/q.jsonl', sha256: 'c'.repeat(64), count: questions.length },
    configs: configs.map(({ name, scorer }) =>
      aPlannedConfig({ config: name, scorer, cells: questions.length }),
    ),
  });
}

async function count(questions: readonly Question[], ...configs: readonly Config[]) {
  const blobs = new FakeBlobStore();
  const lines = questions.map((question) => `${JSON.stringify(question)}\n`);
  await blobs.write('questions/q.jsonl', lines);
  const stores = { blobs, userCode: inProcessPatterns };
  return await countBaselines(headerOf(questions, configs), configs, stores);
}

/** The baselines of the only config. */
async function countOne(questions: readonly Question[], config: Config) {
  return (await count(questions, config)).get(config.name);
}

/** The score of each baseline. */
async function scoresOf(questions: readonly Question[], config: Config) {
  const baselines = (await countOne(questions, config)) ?? [];
  return Object.fromEntries(baselines.map(({ baseline, score }) => [baseline, score]));
}

/** Of answers that were given: one score per question, in one run. */
function summaryOf(config: Config, scores: readonly number[], failedCount = 0): Summary {
  const builder = new SummaryBuilder(aGroupHeader(), 0.98);
  scores.forEach((score, index) => {
    builder.add(aCellRow({ config: config.name, id: `q${index}`, score }));
  });
  for (let index = 0; index < failedCount; index += 1) {
    builder.add(aRowWithoutScore('failed', { config: config.name, id: `f${index}` }));
  }
  return builder.build();
}

describe('the baselines of questions with choices', () => {
  it('are the best constant choice, the longest one, an echo, nothing, and the most frequent target', async () => {
    const found = await countOne(choiceQuestions, aConfig({ scorer: { kind: 'choice' } }));

    expect(found).toEqual([
      { baseline: 'empty', text: '', score: 0, n: 3 },
      { baseline: 'echo', text: null, score: 0, n: 3 },
      { baseline: 'constant-choice', text: 'C', score: 2 / 3, n: 3 },
      { baseline: 'longest-choice', text: null, score: 1 / 3, n: 3 },
      { baseline: 'frequent-target', text: 'C', score: 2 / 3, n: 3 },
    ]);
  });

  it('give a choice in any form that a target has', async () => {
    const forms = ['(C)', 'a bird', 'A'].map((target, index) => ({
      ...(choiceQuestions[index] ?? aQuestion()),
      target: [target],
    }));

    const scores = await scoresOf(forms, aConfig());

    expect(scores).toMatchObject({ 'constant-choice': 1 / 3, 'longest-choice': 1 / 3 });
  });

  it('answer nothing where a question has no choices', async () => {
    const mixed = [...choiceQuestions, aQuestion({ id: 'q4', target: [''] })];

    const scores = await scoresOf(mixed, aConfig());

    expect(scores).toMatchObject({
      empty: 1 / 4,
      'constant-choice': 2 / 4,
      'longest-choice': 2 / 4,
    });
  });
});

describe('the baselines of questions without choices', () => {
  it('count an echo by the scorer of the config', async () => {
    const questions = [
      aQuestion({ id: 'q1', question: 'Is it day or night?', target: ['night'] }),
      aQuestion({ id: 'q2', question: 'Which season is it?', target: ['spring'] }),
    ];

    const byScorer = await count(
      questions,
      aConfig({ name: 'loose', scorer: { kind: 'includes' } }),
      aConfig({ name: 'strict' }),
    );

    expect(byScorer.get('loose')?.[1]).toEqual({ baseline: 'echo', text: null, score: 0.5, n: 2 });
    expect(byScorer.get('strict')?.[1]).toEqual({ baseline: 'echo', text: null, score: 0, n: 2 });
  });

  it('echo the texts of messages', async () => {
    const messages = [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'night' }] },
    ];
    const question = aQuestion({ question: null, messages, target: ['night'] });

    expect(await scoresOf([question], aConfig())).toMatchObject({ echo: 1 });
  });

  it('give the most frequent target in the form that a pattern finds', async () => {
    const scorer = { kind: 'regex', pattern: 'ANSWER: (.*)', match: 'last' };
    const questions = ['7', '8', '8'].map((target, index) =>
      aQuestion({ id: `q${index}`, target: [target] }),
    );

    expect(await scoresOf(questions, aConfig({ scorer }))).toEqual({
      empty: 0,
      echo: 0,
      'frequent-target': 2 / 3,
    });
  });

  it('leave out questions without a target, and are null if none has one', async () => {
    const one = [aQuestion({ id: 'q1', target: null }), aQuestion({ id: 'q2' })];
    const none = one.slice(0, 1);

    expect(await countOne(one, aConfig())).toContainEqual({
      ...{ baseline: 'frequent-target', text: '42', score: 1, n: 1 },
    });
    expect(await countOne(none, aConfig())).toEqual([
      { baseline: 'empty', text: '', score: null, n: 0 },
      { baseline: 'echo', text: null, score: null, n: 0 },
    ]);
  });

  it('have no echo without texts', async () => {
    const textless = aQuestion({ question: null });

    expect(Object.keys(await scoresOf([textless], aConfig()))).toEqual([
      'empty',
      'frequent-target',
    ]);
  });

  it('look at 2,000 questions at even distances, and at the targets of all', async () => {
    const questions = Array.from({ length: 5000 }, (_, index) =>
      aQuestion({ id: `q${index}`, target: [index < 2500 ? 'yes' : `no ${index}`] }),
    );

    const found = await countOne(questions, aConfig());

    expect(found?.at(-1)).toEqual({
      ...{ baseline: 'frequent-target', text: 'yes', score: 0.5, n: 2000 },
    });
  });

  it('are of the questions that a config selects', async () => {
    const questions = ['a', 'b', 'b'].map((target, index) =>
      aQuestion({ id: `q${index}`, target: [target], tags: { part: target } }),
    );
    const config = aConfig({ select: { start: 0, tags: { part: ['a'] } } });

    expect((await countOne(questions, config))?.at(-1)).toMatchObject({ text: 'a', score: 1 });
  });
});

describe('no baselines', () => {
  it.each([
    ['whose answers judges grade', { kind: 'judge', model: 'lab/j' }],
    ['whose scorer compares each answer with controls itself', { kind: 'keyword' }],
    ['that was imported with the scorer of another tool', { kind: 'another-tool' }],
  ])('has a config %s', async (_, scorer) => {
    const config = aConfig({ scorer });

    const counted = await count([aQuestion({ rubric: { required: ['x'] } })], config);

    const [report] = compareWithBaselines(summaryOf(config, [1, 0]), counted);
    expect(report).toEqual({
      ...{ config: 'direct', score: 0.5, baselines: [], best: null, isAboveBest: null },
    });
  });
});

describe('a config beside its baselines', () => {
  it('is named where it does not beat the best of them', async () => {
    const config = aConfig({ scorer: { kind: 'choice' } });
    const counted = await count(choiceQuestions, config);
    const render = (scores: readonly number[], failedCount?: number) => {
      const summary = summaryOf(config, scores, failedCount);
      return renderSummary(summary, 'md', { baselines: compareWithBaselines(summary, counted) });
    };

    expect(render([1, 0, 0])).toContain('direct: 33.3 is no more than always "C", 66.7 (n 3)\n');
    expect(render([1, 1, 0])).toContain('no more than');
    expect(render([1, 1, 1])).not.toContain('no more than');
  });

  it('is not compared while its score is withheld', async () => {
    const config = aConfig({ scorer: { kind: 'choice' } });
    const counted = await count(choiceQuestions, config);

    const [report] = compareWithBaselines(summaryOf(config, [1, 1], 1), counted);

    expect(report).toMatchObject({ score: null, isAboveBest: null });
    expect(report?.best).toMatchObject({ text: 'C', n: 3 });
  });

  it('is named whichever baseline it answers as, in any number of replicates', async () => {
    const anyQuestion = fc.record({
      choices: fc.option(
        fc.uniqueArray(fc.constantFrom('ash', 'oak', 'a birch'), { minLength: 1 }),
      ),
      target: fc.constantFrom('A', 'B', 'oak', '7'),
      question: fc.constantFrom('oak', '7', 'Which tree?'),
    });
    const anyQuestions = fc
      .array(anyQuestion, { minLength: 1, maxLength: 12 })
      .map((parts) =>
        parts.map(({ target, ...each }, index) =>
          aQuestion({ id: `q${index}`, target: [target], ...each }),
        ),
      );
    const anyKind = fc.constantFrom('exact', 'choice', 'includes', 'numeric', 'bbh');
    await fc.assert(
      fc.asyncProperty(anyQuestions, anyKind, fc.integer({ min: 1, max: 3 }), async (...drawn) => {
        const [questions, kind, runCount] = drawn;
        const config = aConfig({ scorer: { kind } });
        const counted = await count(questions, config);
        for (const baseline of counted.get('direct') ?? []) {
          const summary = await answerLike(baseline, questions, { config, runCount });
          expect(compareWithBaselines(summary, counted)[0]?.isAboveBest).toBe(false);
        }
      }),
    );
  });
});

/** What a config scores that answers as a baseline does. */
async function answerLike(
  { baseline, text }: Pick<Baseline, 'baseline' | 'text'>,
  questions: readonly Question[],
  { config, runCount }: { readonly config: Config; readonly runCount: number },
): Promise<Summary> {
  const builder = new SummaryBuilder(aGroupHeader(), 0.98);
  for (let run = 1; run <= runCount; run += 1) {
    for (const question of questions) {
      const answer = aRecordedAnswer({ output: text ?? answerAs(baseline, question) });
      const grader = { userCode: inProcessPatterns };
      const { score } = await gradeAnswer(config.scorer, question, answer, grader);
      builder.add(aCellRow({ score, run: `r${run}`, id: question.id }));
    }
  }
  return builder.build();
}

function answerAs(baseline: string, { question, choices }: Question): string {
  if (baseline === 'echo') return question ?? '';
  return choices?.toSorted((left, right) => right.length - left.length)[0] ?? '';
}

describe.skipIf(!hasSharedData)('the baselines of BIG-Bench Hard', () => {
  it.each([
    ['navigate', 'No', 145 / 250],
    ['snarks', '(B)', 96 / 178],
    ['date_understanding', '(B)', 50 / 250],
    ['word_sorting', 'syndrome therefrom', 1 / 250],
  ])('are at best the most frequent target of %s', async (subtask, text, score) => {
    const found = await countOne(readSubtask(subtask), aConfig({ scorer: { kind: 'bbh' } }));

    const baseline = 'frequent-target';
    expect(bestBaseline(found ?? [])).toMatchObject({ baseline, text, score });
  });

  it('are not beaten by Codex without a chain of thought in five of 27 subtasks', async () => {
    const { n, correct } = readBbhCounts();
    const notBeaten: string[] = [];
    for (const subtask of Object.keys(n)) {
      const config = aConfig({ scorer: { kind: 'bbh' } });
      const counted = await count(readSubtask(subtask), config);
      const right = correct.direct[subtask] ?? 0;
      const scores = Array.from({ length: n[subtask] ?? 0 }, (_, index) => Number(index < right));
      const [report] = compareWithBaselines(summaryOf(config, scores), counted);
      if (report?.isAboveBest === false) notBeaten.push(subtask);
    }

    expect(notBeaten.toSorted()).toEqual([
      'formal_fallacies',
      'multistep_arithmetic_two',
      'navigate',
      'tracking_shuffled_objects_five_objects',
      'tracking_shuffled_objects_seven_objects',
    ]);
  });
});

function readSubtask(subtask: string): readonly Question[] {
  const text = readFileSync(join(sharedDataDir, 'bbh', 'bbh_questions.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map(
      (line) =>
        JSON.parse(line) as { subtask: string; index: number; input: string; target: string },
    )
    .filter((row) => row.subtask === subtask)
    .map(({ index, input, target }) =>
      aQuestion({ id: `${subtask}-${index}`, question: input, target: [target] }),
    );
}
