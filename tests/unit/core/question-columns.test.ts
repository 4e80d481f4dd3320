import { describe, expect, it } from 'vitest';
import { loadQuestions } from '../../../packages/core/src/spec/questions/load-questions.ts';
import { parseQuestionRow } from '../../../packages/core/src/spec/questions/parse-question-row.ts';
import { collect } from '../../support/collect.ts';
import { FakeSourceReader, sha256 } from '../../support/fake-source-reader.ts';

describe('mapped columns', () => {
  it('hold the fields that the spec says', () => {
    const row = { n: 7, text: 'Why?', gold: 'B', a: 'x', b: 'y', c: null, level: 1, area: 'art' };
    const columns = {
      id: 'n',
      question: 'text',
      target: 'gold',
      choices: ['a', 'b', 'c'],
      tags: ['area'],
    };

    expect(parseQuestionRow(row, { columns }).question).toMatchObject({
      id: '7',
      question: 'Why?',
      target: ['B'],
      choices: ['x', 'y'],
      tags: { area: 'art', level: '1' },
      metadata: {},
    });
  });

  it('lead into nested values', () => {
    const row = { id: 'q', question: { stem: 'Why?', choices: { text: ['x', 'y'] } }, key: 'A' };
    const columns = { question: 'question.stem', choices: 'question.choices.text', target: 'key' };

    expect(parseQuestionRow(row, { columns }).question).toMatchObject({
      question: 'Why?',
      choices: ['x', 'y'],
      target: ['A'],
    });
  });

  it('may be several for the accepted answers', () => {
    const row = { id: 'q', question: 'Why?', gold: 'a', also: null, again: 'b' };
    const columns = { target: ['gold', 'also', 'again'] };

    expect(parseQuestionRow(row, { columns }).question?.target).toEqual(['a', 'b']);
  });

  it('take precedence over the names of a row', () => {
    const row = { id: 'q', question: 'Why?', prompt: 'How?' };

    const { question } = parseQuestionRow(row, { columns: { question: 'prompt' } });

    expect(question?.question).toBe('How?');
  });

  it('must exist', () => {
    const row = { id: 'q', question: 'Why?', gold: 'a' };

    expect(parseQuestionRow(row, { columns: { target: 'glod' } }).problems).toEqual([
      'target: expected a column "glod"; did you mean "gold"?',
    ]);
    expect(parseQuestionRow(row, { columns: { target: 'zzzzzz' } }).problems).toEqual([
      'target: expected a column "zzzzzz" (received id, question, gold)',
    ]);
  });

  it('are not tags that results would lose', () => {
    const row: unknown = JSON.parse('{"id": "q", "question": "Why?", "__proto__": "x"}');

    expect(parseQuestionRow(row, { columns: { tags: '__proto__' } }).problems).toEqual([
      'tags.__proto__: expected a name that results can be listed by, received "__proto__"; rename it',
    ]);
  });

  it('are named in a problem', () => {
    const row = { id: 'q', question: 'Why?', gold: { a: 1 }, Options: 'x|y' };

    expect(parseQuestionRow(row, { columns: { target: 'gold' } }).problems).toEqual([
      'target[0] (from "gold"): expected a text, received {"a":1}',
      'choices (from "Options"): expected a list, received "x|y"',
    ]);
  });
});

describe('the columns of a file of texts', () => {
  it('are known in any case', () => {
    const row = { ID: '1', Question: 'Why?', Answer: 'B', Options: '["x", "y"]', Subject: 'art' };

    expect(parseQuestionRow(row).question).toMatchObject({
      id: '1',
      question: 'Why?',
      target: ['B'],
      choices: ['x', 'y'],
      tags: { Subject: 'art' },
    });
  });

  it('hold lists and tables as JSON', () => {
    const row = {
      id: '1',
      messages: '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]',
      metadata: '{"source": "x"}',
      tags: '{"level": 2}',
      attachments: 'data:image/png;base64,AA==',
    };

    expect(parseQuestionRow(row).question).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
      ],
      metadata: { source: 'x' },
      tags: { level: '2' },
      attachments: ['data:image/png;base64,AA=='],
    });
  });

  it('never hold a list of targets: it may be the answer itself', () => {
    expect(
      parseQuestionRow({ id: '1', question: 'List?', target: '[1, 2]' }).question?.target,
    ).toEqual(['[1, 2]']);
  });

  it('leave tags open', () => {
    expect(parseQuestionRow({ id: '1', question: 'Why?', category: null }).question?.tags).toEqual(
      {},
    );
  });
});

describe('columns named A, B and so on', () => {
  it('are the choices', () => {
    const row = { id: '1', question: 'Why?', A: 'x', B: 'y', C: 3, D: null, E: 'z' };

    const { question } = parseQuestionRow(row);

    expect(question).toMatchObject({ choices: ['x', 'y', '3'], metadata: { D: null, E: 'z' } });
  });

  it.each([
    ['beside choices', { choices: ['p', 'q'], A: 'x', B: 'y' }, ['p', 'q']],
    ['alone', { A: 'x', C: 'y' }, null],
  ])('are metadata %s', (_, parts, choices) => {
    const { question } = parseQuestionRow({ id: '1', question: 'Why?', ...parts });

    expect(question?.choices).toEqual(choices);
    expect(question?.metadata['A']).toBe('x');
  });
});

describe('a column of images', () => {
  const image = 'data:image/png;base64,AA==';

  it.each([
    ['one', image, [image]],
    ['several', [image, image], [image, image]],
  ])('is sent: %s', (_, value, attachments) => {
    const { question } = parseQuestionRow({ id: '1', question: 'Why?', image: value });

    expect(question).toMatchObject({ attachments, metadata: {} });
  });

  it.each([['cat.png'], ['https://example.org/cat.png'], [{ path: 'cat.png' }], [[image, 7]]])(
    'is a problem if it holds something else: %j',
    (value) => {
      const { problems } = parseQuestionRow({ id: '1', question: 'Why?', image: value });

      const [other] = [value].flat().slice(-1);
      expect(problems).toEqual([
        `image: expected an image as a data URL (data:image/png;base64,...), received ${JSON.stringify(other)}; to send addresses, which the vendor fetches, write [columns] attachments = "image"; to send nothing, rename the column`,
      ]);
    },
  );

  it.each([[null], [''], [[]], [[null]]])('is no image where it is empty: %j', (value) => {
    const { question } = parseQuestionRow({ id: '1', question: 'Why?', Images: value });

    expect(question).toMatchObject({ metadata: {} });
    expect(question?.attachments).toBeUndefined();
  });

  it('sends addresses that [columns] maps', () => {
    const row = { id: '1', question: 'Why?', image: 'https://example.org/cat.png' };

    const { question } = parseQuestionRow(row, { columns: { attachments: 'image' } });

    expect(question?.attachments).toEqual(['https://example.org/cat.png']);
  });
});

describe('rows without an id', () => {
  const reading = { digestText: sha256 };

  it('get one from what is asked', () => {
    const row = { question: 'Why?', choices: ['x', 'y'], target: 'A', extra: 1 };

    const id = parseQuestionRow(row, reading).question?.id;

    expect(id).toMatch(/^q-[0-9a-f]{16}$/);
    expect(parseQuestionRow({ ...row, target: 'B', category: 'c' }, reading).question?.id).toBe(id);
    expect(parseQuestionRow({ ...row, id: '' }, reading).problems).toHaveLength(1);
    for (const other of [{ question: 'How?' }, { choices: ['y', 'x'] }, { extra: 2 }]) {
      expect(parseQuestionRow({ ...row, ...other }, reading).question?.id).not.toBe(id);
    }
  });

  it('are told apart if they repeat, whatever is added to the file later', async () => {
    const rows = ['{"question":"a"}', '{"question":"b"}', '{"question":"a"}', '{"question":"a"}'];
    const ids = async (lines: readonly string[]) => {
      const reader = new FakeSourceReader({ '/q.jsonl': lines.join('\n') });
      return (await collect(loadQuestions(['/q.jsonl'], reader))).map(({ id }) => id);
    };

    const [a = '', b, a2, a3] = await ids(rows);

    expect([a2, a3]).toEqual([`${a}-2`, `${a}-3`]);
    expect(new Set([a, b]).size).toBe(2);
    expect((await ids([...rows, '{"question":"c"}'])).slice(0, 4)).toEqual([a, b, a2, a3]);
  });

  it('are read from tables as from lines', async () => {
    const reader = new FakeSourceReader(
      { '/q.jsonl': '{"question":"a","context":"c"}' },
      { '/q.csv': [{ question: 'a', context: 'c' }], '/bad.csv': [{ question: null }] },
    );

    const [line] = await collect(loadQuestions(['/q.jsonl'], reader));
    const [row] = await collect(loadQuestions(['/q.csv'], reader));

    expect(row).toEqual(line);
    await expect(collect(loadQuestions(['/q.csv', '/bad.csv'], reader))).rejects.toThrow(
      '/bad.csv[0]: question: expected a text, received none',
    );
  });
});
