import { type Config, checkQuestions, openQuestions, type Select } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aConfig } from '../../support/builders.ts';
import { createTestDigest, FakeSourceReader, sha256 } from '../../support/fake-source-reader.ts';

const three = [
  { id: 'q1', question: 'One?', tags: { kind: 'a' } },
  { id: 'q2', question: 'Two?', tags: { kind: 'b' } },
  { id: 'q3', question: 'Three?', tags: { kind: 'a' } },
];

describe('the check before a plan', () => {
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

  it('selects for a config within what the spec selects', async () => {
    const configs = [aConfig({ select: { start: 1, tags: { kind: ['a'] } } })];

    const checked = await check(three, { select: { start: 0, tags: { kind: ['a'] } }, configs });

    expect([checked.count, checked.cellCounts.get('direct')]).toEqual([2, 1]);
  });

  it('refuses a prompt that a question cannot fill', async () => {
    const configs = [aConfig({ prompt: '{{tags.level}}' })];

    const checking = check(three.slice(0, 1), { configs });

    await expect(checking).rejects.toMatchObject({
      code: 'invalid-question',
      message: 'config "direct": question "q1" has no tags.level, which the prompt asks for',
    });
  });

  it('minds only the prompts of the questions that a config asks', async () => {
    const select: Select = { start: 0, tags: { kind: ['b'] } };
    const rows = [
      ...three.slice(0, 1),
      { id: 'q2', question: 'Two?', tags: { kind: 'b', level: '1' } },
    ];

    const checked = await check(rows, { configs: [aConfig({ prompt: '{{tags.level}}', select })] });

    expect(checked.cellCounts.get('direct')).toBe(1);
  });

  it('refuses a selection that leaves nothing', async () => {
    const nothing: Select = { start: 3 };

    await expect(check(three, { select: nothing })).rejects.toThrow(
      'select leaves no question: expected at least one',
    );
    await expect(check(three, { configs: [aConfig({ select: nothing })] })).rejects.toThrow(
      'config "direct": select leaves no question',
    );
  });

  it('does not blame a selection when it gave up before the end', async () => {
    const many = Array.from({ length: 25 }, (_, at) => ({ id: `q${at}`, question: 'Why?' }));
    const last = { id: 'last', question: 'Why?', tags: { kind: 'last' } };
    const configs = [
      aConfig({ name: 'broken', prompt: '{{tags.level}}' }),
      aConfig({ name: 'late', select: { start: 0, tags: { kind: ['last'] } } }),
    ];

    const checking = check([...many, last], { configs });

    await expect(checking).rejects.toSatisfy(
      (error: Error) =>
        error.message.split('\n').length === 20 && !error.message.includes('config "late"'),
    );
  });
});

async function check(
  rows: readonly object[],
  init: { readonly select?: Select; readonly configs?: readonly Config[] },
) {
  const text = rows.map((row) => JSON.stringify(row)).join('\n');
  const reader = new FakeSourceReader({ '/q.jsonl': text });
  const source = openQuestions('/q.jsonl', (path) => path, reader);
  return await checkQuestions(source, init.select, init.configs ?? [aConfig()], createTestDigest);
}
