import { type Config, checkQuestions, openQuestions, type Select } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { aConfig, aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { createTestDigest, FakeSourceReader, sha256 } from '../../support/fake-source-reader.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

type ScorerKind = Config['scorer']['kind'];

const three = [
  { id: 'q1', question: 'One?', tags: { kind: 'a' } },
  { id: 'q2', question: 'Two?', tags: { kind: 'b' } },
  { id: 'q3', question: 'Three?', tags: { kind: 'a' } },
];

describe('checkQuestions', () => {
  it('counts the questions and the cells of each config', async () => {
    const configs = [
      aConfig({ name: 'all' }),
      aConfig({ name: 'some', select: { start: 0, tags: { kind: ['a'] } } }),
    ];

    const checked = await check(three, { configs });

    expect(checked.count).toBe(3);
    expect([...checked.cellCounts]).toEqual([
      ['all', 3],
      ['some', 2],
    ]);
  });

  it('digests the selected questions as they are stored', async () => {
    const [, second] = three;

    const checked = await check(three, { select: { start: 1, limit: 1 } });

    const stored = {
      id: 'q2',
      question: 'Two?',
      messages: null,
      target: null,
      choices: null,
      rubric: null,
      tags: second?.tags,
      metadata: {},
    };
    expect(checked.sha256).toBe(sha256(`${JSON.stringify(stored)}\n`));
  });

  it('keeps the selected questions as they are stored', async () => {
    const checked = await check(three, { select: { start: 1 } });

    expect(checked.lines?.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([
      'q2',
      'q3',
    ]);
    expect(sha256((checked.lines ?? []).join(''))).toBe(checked.sha256);
  });

  it("applies a config's selection within the spec's", async () => {
    const configs = [aConfig({ select: { start: 1, tags: { kind: ['a'] } } })];

    const checked = await check(three, { select: { start: 0, tags: { kind: ['a'] } }, configs });

    expect([checked.count, checked.cellCounts.get('direct')]).toEqual([2, 1]);
  });

  it('reports a selection without questions beside the other problems', async () => {
    const configs = [
      aConfig({ name: 'unfit', prompt: '{{tags.level}}' }),
      aConfig({ name: 'none', select: { start: 3 } }),
    ];

    const checking = check(three.slice(0, 1), { configs });

    await expect(checking).rejects.toThrow(
      'config "unfit": question "q1" has no tags.level, which the prompt asks for; add it, or leave such questions out with select\nconfig "none": select leaves no question',
    );
  });

  it('rejects a prompt that a question cannot fill', async () => {
    const configs = [aConfig({ prompt: '{{tags.level}}' })];

    const checking = check(three.slice(0, 1), { configs });

    await expect(checking).rejects.toMatchObject({
      code: 'invalid-question',
      message:
        'config "direct": question "q1" has no tags.level, which the prompt asks for; add it, or leave such questions out with select',
    });
  });

  it('renders a prompt only for the questions that its config selects', async () => {
    const select: Select = { start: 0, tags: { kind: ['b'] } };
    const rows = [
      ...three.slice(0, 1),
      { id: 'q2', question: 'Two?', tags: { kind: 'b', level: '1' } },
    ];

    const checked = await check(rows, { configs: [aConfig({ prompt: '{{tags.level}}', select })] });

    expect(checked.cellCounts.get('direct')).toBe(1);
  });

  it('rejects a selection without questions', async () => {
    const nothing: Select = { start: 3 };

    await expect(check(three, { select: nothing })).rejects.toThrow(
      'select leaves no question: expected at least one',
    );
    await expect(check(three, { configs: [aConfig({ select: nothing })] })).rejects.toThrow(
      'config "direct": select leaves no question',
    );
  });

  it('does not report an empty selection if it stopped early', async () => {
    const many = Array.from({ length: 25 }, (_, at) => ({ id: `q${at}`, question: 'Why?' }));
    const last = { id: 'last', question: 'Why?', tags: { kind: 'last' } };
    const configs = [
      aConfig({ name: 'broken', prompt: '{{tags.level}}' }),
      aConfig({ name: 'late', select: { start: 0, tags: { kind: ['last'] } } }),
    ];

    const checking = check([...many, last], { configs });

    await expect(checking).rejects.toSatisfy(
      (error: Error) =>
        error.message.split('\n').length === 21 && !error.message.includes('config "late"'),
    );
  });
});

const colors = ['red', 'green', 'option B'];

describe('checkQuestions for targets', () => {
  it.each<[ScorerKind, string, readonly string[] | null]>([
    ['exact', '', null],
    ['bbh', '', null],
    ['includes', 'ten', null],
    ['regex', 'ten', null],
    ['numeric', '10', null],
    ['numeric', ' -1,234.50 ', null],
    ['numeric', '−3', null],
    ['numeric', '$5', null],
    ['numeric', '$ -5', null],
    ['numeric', '12.5 %', null],
    ['numeric', '7 €', null],
    ['numeric', '1e-3', null],
    ['numeric', '1/2', null],
    ['numeric', '1,5', null],
    ['numeric', '1 000', null],
    ['numeric', '-$5', null],
    ['choice', 'b', colors],
    ['choice', '(C)', colors],
    ['choice', 'Green.', colors],
    ['choice', 'E', null],
    ['choice', '(e)', null],
  ])('accepts, for %s, the target %j with the choices %j', async (kind, target, choices) => {
    const checked = await checkTargets(kind, [target], choices);

    expect(checked.count).toBe(1);
  });

  it.each<[ScorerKind, string, readonly string[] | null, string]>([
    ['includes', '', null, 'a text, not an empty one'],
    ['includes', ' \n', null, 'a text, not an empty one'],
    ['regex', '', null, 'a text, not an empty one'],
    ['numeric', '', null, 'a text, not an empty one'],
    ['choice', '', colors, 'a text, not an empty one'],
    ['numeric', 'about ten', null, 'one number and nothing else'],
    ['numeric', 'about 10', null, 'one number and nothing else'],
    ['numeric', '10-4', null, 'one number and nothing else'],
    ['numeric', '1,2,3', null, 'one number and nothing else'],
    ['numeric', '1e99999', null, 'one number and nothing else'],
    ['choice', 'E', ['x', 'y'], "a letter of A to B or a choice's text"],
    ['choice', 'blue', colors, "a letter of A to C or a choice's text"],
    ['choice', 'B or C', colors, "a letter of A to C or a choice's text"],
    ['choice', 'option B', colors, "a letter of A to C or a choice's text"],
    ['choice', 'B', ['x'], "the letter A or a choice's text"],
    ['choice', 'green', null, 'a single letter'],
    ['choice', 'the answer is B', null, 'a single letter'],
  ])(
    'rejects, for %s, the target %j with the choices %j',
    async (kind, target, choices, expected) => {
      const checking = checkTargets(kind, [target], choices);

      await expect(checking).rejects.toMatchObject({
        code: 'invalid-question',
        message: `config "direct": question "q1": target: expected ${expected}, received ${JSON.stringify(target)}`,
      });
    },
  );

  it('says once that no question has a usable target, and what the file may be', async () => {
    const rows = Array.from({ length: 30 }, (_, index) => ({
      id: `q${index}`,
      question: 'One?',
      target: `1 + ${index}\n#### ${index}`,
    }));

    const checking = check(rows, { configs: [aConfig({ scorer: { kind: 'numeric' } })] });

    await expect(checking).rejects.toMatchObject({
      message: [
        'config "direct": question "q0": target: expected one number and nothing else, received "1 + 0\\n#### 0", and no better one in 20 questions; if the file is a copy of a dataset, write it as one, as in questions = { dataset = "gsm8k", path = "..." }; if not, say in [columns] which column holds the target, or choose another scorer',
        'reading stopped after 20 problems',
      ].join('\n'),
    });
  });

  it('lists each target that cannot be used if another question has a usable one', async () => {
    const rows = ['ten', 'twelve', 'twenty', '2'].map((target, index) => ({
      id: `q${index}`,
      question: 'One?',
      target,
    }));

    const checking = check(rows, { configs: [aConfig({ scorer: { kind: 'numeric' } })] });

    await expect(checking).rejects.toThrow(
      /question "q0": .*"ten"\n.*question "q1": .*"twelve"\n.*question "q2": .*"twenty"$/,
    );
  });

  it('names the index of a target if there are several', async () => {
    const checking = checkTargets('numeric', ['10', 'ten'], null);

    await expect(checking).rejects.toThrow(
      'config "direct": question "q1": target[1]: expected one number and nothing else, received "ten"',
    );
  });

  it('checks targets only for the configs that select the question', async () => {
    const rows = [{ id: 'q1', question: 'One?', target: 'ten' }, ...three.slice(1)];
    const later: Select = { start: 1 };

    const checked = await check(rows, {
      configs: [aConfig({ scorer: scorerOf('numeric'), select: later })],
    });

    expect(checked.cellCounts.get('direct')).toBe(2);
  });

  it('lists at most 20 problems, and says that it stopped there', async () => {
    const targets = Array.from({ length: 30 }, () => 'ten');

    const checking = checkTargets('numeric', targets, null);

    await expect(checking).rejects.toSatisfy(
      (error: Error) =>
        error.message.split('\n').length === 21 &&
        error.message.endsWith('\nreading stopped after 20 problems'),
    );
  });

  it('accepts only targets that are correct when given as the answer', async () => {
    const kinds = fc.constantFrom('numeric', 'choice', 'includes');
    const texts = fc.oneof(
      fc.stringMatching(/^[-+−$ (]{0,2}[0-9.,]{1,6}[%€ )]{0,2}$/),
      fc.stringMatching(/^\(?[A-E]\)?\.?$/),
      fc.constantFrom(...colors, 'the answer', ''),
    );

    await fc.assert(
      fc.asyncProperty(kinds, texts, async (kind, text) => {
        const passes = await checkTargets(kind, [text], colors).then(
          () => true,
          () => false,
        );
        const question = aQuestion({ target: [text], choices: colors });
        const grade = await gradeAnswer(
          scorerOf(kind),
          question,
          aRecordedAnswer({ output: text }),
          {
            userCode: inProcessPatterns,
          },
        );

        expect(passes && grade.score !== 1).toBe(false);
      }),
    );
  });
});

function scorerOf(kind: ScorerKind): Config['scorer'] {
  if (kind === 'numeric') return { kind, tolerance: 0 };
  return kind === 'regex' ? { kind, pattern: '.*' } : { kind };
}

async function checkTargets(
  kind: ScorerKind,
  target: readonly string[],
  choices: readonly string[] | null,
) {
  const configs = [aConfig({ scorer: scorerOf(kind) })];
  return await check([{ id: 'q1', question: 'One?', target, choices }], { configs });
}

async function check(
  rows: readonly object[],
  init: { readonly select?: Select; readonly configs?: readonly Config[] },
) {
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const reader = new FakeSourceReader({ '/q.jsonl': text });
  const source = openQuestions('/q.jsonl', (path) => path, reader);
  return await checkQuestions(source, init.select, init.configs ?? [aConfig()], createTestDigest);
}
