import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuestionRow } from '../../../packages/core/src/spec/questions/parse-question-row.ts';

describe('parseQuestionRow', () => {
  it('reads a row with only an id and a question', () => {
    const { question } = parseQuestionRow({ id: 'q1', question: 'Why?' });

    expect(question).toEqual({
      id: 'q1',
      question: 'Why?',
      messages: null,
      target: null,
      choices: null,
      rubric: null,
      tags: {},
      metadata: {},
    });
  });

  it('keeps every field', () => {
    const row = {
      id: 'q1',
      question: null,
      messages: [{ role: 'user', content: 'Why?' }],
      target: ['a', 'b'],
      choices: ['x', 'y'],
      rubric: { points: 3 },
      tags: { domain: 'maths' },
      metadata: { source: { page: 3 } },
    };

    expect(parseQuestionRow(row)).toEqual({ question: row });
  });

  it.each([
    ['_id', { _id: 'q9' }, { id: 'q9' }],
    ['input', { input: 'Who?' }, { question: 'Who?' }],
    ['prompt', { prompt: 'Who?' }, { question: 'Who?' }],
    ['answer', { answer: 'x' }, { target: ['x'] }],
    ['correct_answer', { correct_answer: 'x' }, { target: ['x'] }],
    ['options', { options: ['x', 'y'] }, { choices: ['x', 'y'] }],
  ])('reads the alias %s', (_, row, expected) => {
    const others = 'question' in expected ? { id: 'q1' } : { question: 'Why?' };

    const { question } = parseQuestionRow({
      ...('id' in expected ? {} : { id: 'q1' }),
      ...others,
      ...row,
    });

    expect(question).toMatchObject({ ...expected, metadata: {} });
  });

  it.each([
    ['after it', { id: 'q1', question: 'Why?', input: 'some context' }],
    ['before it', { input: 'some context', question: 'Why?', id: 'q1' }],
  ])('prefers the field itself to an alias %s', (_, row) => {
    const { question } = parseQuestionRow(row);

    expect(question).toMatchObject({
      question: 'Why?',
      metadata: { input: 'some context' },
    });
  });

  it('reads an alias if the field itself is null', () => {
    const { question } = parseQuestionRow({ id: 'q1', question: null, prompt: 'Why?' });

    expect(question).toMatchObject({ question: 'Why?', metadata: {} });
  });

  it('reads one of two aliases and keeps the other as metadata', () => {
    const row = { id: 'q1', question: 'Why?', correct_answer: 'b', answer: 'a' };

    const { question } = parseQuestionRow(row);

    expect(question).toMatchObject({ target: ['a'], metadata: { correct_answer: 'b' } });
  });

  it('turns numbers into texts', () => {
    const row = { id: 7, question: 'Why?', target: 4, choices: [3, 4.5], tags: { level: 2 } };

    const { question } = parseQuestionRow(row);

    expect(question).toMatchObject({
      id: '7',
      target: ['4'],
      choices: ['3', '4.5'],
      tags: { level: '2' },
    });
  });

  it('turns booleans into texts', () => {
    const { question } = parseQuestionRow({ id: 'q1', question: 'Is it?', target: [true, 'yes'] });

    expect(question?.target).toEqual(['true', 'yes']);
  });

  it('reads an empty list of accepted answers as no target', () => {
    const { question } = parseQuestionRow({ id: 'q1', question: 'Why?', target: [] });

    expect(question?.target).toBeNull();
  });

  it.each(['domain', 'category', 'subtask', 'subject', 'topic', 'difficulty', 'level'])(
    'reads %s as a tag',
    (field) => {
      const { question } = parseQuestionRow({ id: 'q1', question: 'Why?', [field]: 'x' });

      expect(question).toMatchObject({ tags: { [field]: 'x' }, metadata: {} });
    },
  );

  it('adds unknown fields to the metadata', () => {
    const row = { id: 'q1', question: 'Why?', metadata: { page: 3 }, author: { name: 'x' } };

    const { question } = parseQuestionRow(row);

    expect(question?.metadata).toEqual({ page: 3, author: { name: 'x' } });
  });

  it.each<[string, unknown, readonly string[]]>([
    ['a text', 'Why?', ['expected an object, received "Why?"']],
    ['a list', [], ['expected an object, received []']],
    ['no id', { question: 'Why?' }, ['id: expected a text, received nothing']],
    [
      'nothing to ask',
      { id: 'q1' },
      [
        'question: expected a question or messages, received neither (the row has id; say in [columns] which of them it is)',
      ],
    ],
    [
      'a misspelled question',
      { id: 'q1', qestion: 'Why?' },
      ['question: expected a question or messages, received neither; did you mean "question"?'],
    ],
    [
      'a question that is null',
      { id: 'q1', prompt: null },
      ['question: expected a text, received none'],
    ],
    [
      'an empty question',
      { id: 'q1', question: ' \n' },
      ['question: expected a text, received an empty one'],
    ],
    [
      'no message',
      { id: 'q1', messages: [] },
      ['messages: expected at least one message, received none'],
    ],
    [
      'a number for a question',
      { id: 'q1', question: 5 },
      ['question: expected a text, received 5; write it between quotation marks'],
    ],
    [
      'a message of an unknown role',
      { id: 'q1', messages: [{ role: 'tool', content: 'x' }] },
      ['messages[0].role: expected "system", "user" or "assistant", received "tool"'],
    ],
    [
      'no text for a target',
      { id: 'q1', question: 'Why?', target: [null] },
      ['target[0]: expected a text, received null'],
    ],
    [
      'a text for tags',
      { id: 'q1', question: 'Why?', tags: 'maths' },
      ['tags: expected a table, received "maths"'],
    ],
    [
      'a list for tags',
      { id: 'q1', question: 'Why?', tags: ['a'] },
      ['tags: expected a table, received ["a"]'],
    ],
    [
      'a table for a tag',
      { id: 'q1', question: 'Why?', tags: { a: {} } },
      ['tags.a: expected a text, received {}'],
    ],
    [
      'tags that results would lose',
      { id: 'q1', question: 'Why?', topic: '__proto__', tags: '{"__proto__": "x", "a": "b"}' },
      [
        'tags.__proto__: expected a name that results can be listed by, received "__proto__"; rename it',
        'tags.topic: expected a text that results can be listed by, received "__proto__"; rename it',
      ],
    ],
    [
      'a text for metadata',
      { id: 'q1', question: 'Why?', metadata: 'x' },
      ['metadata: expected a table, received "x"'],
    ],
    [
      'an attachment that is a path',
      { id: 'q1', question: 'Why?', attachments: ['a.png'] },
      [
        'attachments[0]: expected an image as a data URL (data:image/png;base64,...) or an http or https address (this version reads no files), received "a.png"',
      ],
    ],
    [
      'parts in a message of the model',
      {
        id: 'q1',
        messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }],
      },
      [
        'messages[0].content: expected a text: only a message of the user has parts, received [{"type":"text","text":"x"}]',
      ],
    ],
  ])('rejects %s', (_, row, problems) => {
    expect(parseQuestionRow(row)).toEqual({ problems });
  });

  it('reads images beside the question and in its messages', () => {
    const attachments = ['data:image/png;base64,iVBORw0KGgo=', 'https://example.org/a.png'];
    const content = [
      { type: 'text', text: 'Why?' },
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    ];

    const beside = parseQuestionRow({ id: 'q1', question: 'Why?', attachments });
    const within = parseQuestionRow({ id: 'q1', messages: [{ role: 'user', content }] });

    expect(beside.question?.attachments).toEqual(attachments);
    expect(within.question?.messages).toEqual([{ role: 'user', content }]);
  });

  it('reads an empty list of attachments as none', () => {
    const { question } = parseQuestionRow({ id: 'q1', question: 'Why?', attachments: [] });

    expect(question).toStrictEqual(parseQuestionRow({ id: 'q1', question: 'Why?' }).question);
  });

  it.each(['', '.', '..', ' x', 'x\n', 'a#b', 'a\u0000b', 'a\u2028b', 'é'.repeat(41), '\ud800'])(
    'rejects the unsafe id %j',
    (id) => {
      const { problems } = parseQuestionRow({ id, question: 'Why?' });

      expect(problems?.length).toBe(1);
      expect(problems?.[0]).toMatch(
        /^id: expected an? (id of at most 80 bytes|text, not an empty one)/,
      );
    },
  );

  it.each(['a/b', 'bbh/snarks/88', 'a b', '日本', '%2F', '..x', 'é'.repeat(40)])(
    'accepts the id %j',
    (id) => {
      expect(parseQuestionRow({ id, question: 'Why?' }).question?.id).toBe(id);
    },
  );

  it('returns a question or problems for any row', () => {
    const keys = fc.constantFrom(
      'id',
      '_id',
      'question',
      'input',
      'target',
      'tags',
      'metadata',
      'x',
    );

    fc.assert(
      fc.property(fc.dictionary(keys, fc.jsonValue()), (row) => {
        const { question, problems } = parseQuestionRow(row);

        expect(question === undefined).toBe(problems !== undefined);
        expect(problems ?? ['']).not.toEqual([]);
      }),
    );
  });

  it('reads its own result unchanged', () => {
    fc.assert(
      fc.property(
        fc.record({
          id: fc.stringMatching(/^[a-z0-9/]{1,20}$/),
          question: fc.string().filter((text) => text.trim() !== ''),
          target: fc.option(fc.array(fc.string(), { minLength: 1 })),
          choices: fc.option(fc.array(fc.string())),
          tags: fc.dictionary(
            fc.stringMatching(/^[a-z]+$/),
            fc.string().filter((text) => text !== '__proto__'),
          ),
        }),
        (row) => {
          const { question } = parseQuestionRow(row);

          expect(question).toMatchObject(row);
          expect(parseQuestionRow(question).question).toEqual(question);
        },
      ),
    );
  });
});
