import { openQuestions } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { directPrefix } from '../../../packages/core/src/spec/datasets/bbh.ts';
import { readBbhPrefixes } from '../../support/bbh-recordings.ts';
import { collect } from '../../support/collect.ts';
import { FakeSourceReader } from '../../support/fake-source-reader.ts';
import { hasSharedData } from '../../support/shared-data.ts';

const cot = `Tell what it is.

Q: Is it this?
A: Let's think step by step.
It may be. The answer is near: the answer is not, or rather the answer is (A).

Q: Is it that?
Options: (A) (B)
A: Let's think step by step.
So the answer is 5 ) ].`;
const direct = `Tell what it is.

Q: Is it this?
A: (A)

Q: Is it that?
Options: (A) (B)
A: 5 ) ]`;
const canary = 'Canary: this text must stay out. canary GUID 0000-test\n-----\n';
const checkout = {
  '/bbh/LICENSE': 'MIT',
  '/bbh/bbh/snarks.json': task(['S0', '(A)'], ['S1', '(B)']),
  '/bbh/bbh/navigate.json': task(['N0', 'Yes']),
  '/bbh/cot-prompts/snarks.txt': `${canary}${cot}\n`,
  '/bbh/cot-prompts/navigate.txt': `${canary}Just so.\n`,
};
const exported = {
  '/bbh/bbh_questions.jsonl': [
    { subtask: 'snarks', index: 88, input: 'cut', prompt_input: 'whole', target: '(A)' },
    { subtask: 'navigate', index: 0, input: 'N0', target: 'Yes' },
  ]
    .map((row) => `${JSON.stringify(row)}\n`)
    .join(''),
  '/bbh/prefixes.json': JSON.stringify({
    canary: 'x',
    prefix: { direct: { snarks: 'D' }, cot: { snarks: 'C' } },
  }),
};

describe('BIG-Bench Hard from a checkout', () => {
  it('has every subtask with its prompts, without the canary', async () => {
    const questions = await load(checkout);

    expect(questions.map(({ id }) => id)).toEqual([
      'bbh/navigate/0',
      'bbh/snarks/0',
      'bbh/snarks/1',
    ]);
    expect(questions[2]).toEqual({
      id: 'bbh/snarks/1',
      question: 'S1',
      messages: null,
      target: ['(B)'],
      choices: null,
      rubric: null,
      tags: { subtask: 'snarks' },
      metadata: { index: 1, direct, cot },
    });
  });

  it('lists the files it is read from', async () => {
    expect(await source(checkout).files()).toEqual([
      '/bbh/bbh/navigate.json',
      '/bbh/cot-prompts/navigate.txt',
      '/bbh/bbh/snarks.json',
      '/bbh/cot-prompts/snarks.txt',
    ]);
  });

  it.each([
    ['invalid JSON', '{', 'expected JSON (column 2: '],
    ['no examples', '{"examples":[]}', 'examples: expected at least one entry, received []'],
    [
      'a bad example',
      '{"examples":[{"input":"x"}]}',
      'examples[0].target: expected a text, received nothing',
    ],
  ])('is rejected for %s, with the file', async (_, text, problem) => {
    const loading = load({ ...checkout, '/bbh/bbh/navigate.json': text });

    await expect(loading).rejects.toMatchObject({ code: 'invalid-question' });
    await expect(loading).rejects.toThrow(`/bbh/bbh/navigate.json: ${problem}`);
  });

  it('is rejected without the prompts of a subtask', async () => {
    const { '/bbh/cot-prompts/snarks.txt': _, ...others } = checkout;

    await expect(load(others)).rejects.toMatchObject({ code: 'invalid-file' });
  });

  it('is rejected if the folder holds something else', async () => {
    const loading = load({ '/bbh/README.md': 'x' });

    await expect(loading).rejects.toMatchObject({
      code: 'unknown-dataset',
      message:
        '/bbh: expected a checkout of BIG-Bench-Hard (bbh/*.json) or bbh_questions.jsonl, received neither',
    });
  });
});

describe('BIG-Bench Hard from its export', () => {
  it('has the questions of the recorded prompts', async () => {
    const questions = await load(exported);

    expect(questions).toMatchObject([
      {
        id: 'bbh/snarks/88',
        question: 'whole',
        target: ['(A)'],
        metadata: { index: 88, direct: 'D', cot: 'C' },
      },
      { id: 'bbh/navigate/0', question: 'N0', metadata: { direct: '', cot: '' } },
    ]);
  });

  it('is rejected with the line of a bad row', async () => {
    const text = `${exported['/bbh/bbh_questions.jsonl']}{"subtask":"x","index":-1,"input":"y","target":"z"}\n`;

    const loading = load({ ...exported, '/bbh/bbh_questions.jsonl': text });

    await expect(loading).rejects.toThrow(
      '/bbh/bbh_questions.jsonl:3: index: expected a number >= 0, received -1',
    );
  });

  it('is rejected without its prefixes', async () => {
    const { '/bbh/prefixes.json': _, ...others } = exported;

    await expect(load(others)).rejects.toMatchObject({ code: 'invalid-file' });
  });
});

describe('a direct prefix', () => {
  it('is the chain of thought with each worked answer reduced to its result', () => {
    expect(directPrefix(cot)).toBe(direct);
  });

  it('keeps a text without examples', () => {
    expect(directPrefix('Just so.')).toBe('Just so.');
  });
});

describe.runIf(hasSharedData)('the direct prefixes of the export', () => {
  it('equal those of the checkout except for three subtasks', () => {
    const prefixes = readBbhPrefixes();

    const different = Object.keys(prefixes.cot).filter(
      (subtask) => directPrefix(prefixes.cot[subtask] ?? '') !== prefixes.direct[subtask],
    );

    expect(different).toEqual([
      'date_understanding',
      'snarks',
      'tracking_shuffled_objects_three_objects',
    ]);
  });
});

function task(...examples: readonly (readonly [string, string])[]): string {
  return JSON.stringify({
    canary: 'x',
    examples: examples.map(([input, target]) => ({ input, target })),
  });
}

function source(files: Readonly<Record<string, string>>) {
  const reader = new FakeSourceReader(files);
  return openQuestions({ dataset: 'bbh', path: '/bbh' }, (path) => path, reader);
}

async function load(files: Readonly<Record<string, string>>) {
  return await collect(source(files).read());
}
