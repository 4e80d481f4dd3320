import { type Question, renderPrompt } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTemplate } from '../../../packages/core/src/spec/render-prompt.ts';
import { aConfig, aQuestion } from '../../support/builders.ts';

describe('renderPrompt', () => {
  it('returns the question without a template', () => {
    const messages = renderPrompt(aConfig(), aQuestion({ question: 'Why?' }));

    expect(messages).toEqual([{ role: 'user', content: 'Why?' }]);
  });

  it.each(['metadata.constructor', 'metadata.__proto__', 'tags.toString', 'tags.hasOwnProperty'])(
    'has no field {{%s}} that every object has',
    (field) => {
      const config = aConfig({ prompt: `{{question}} {{${field}}}` });

      expect(() => renderPrompt(config, aQuestion({ id: 'q1' }))).toThrow(
        `question "q1" has no ${field}, which the prompt asks for`,
      );
    },
  );

  it('lists the choices below the question', () => {
    const question = aQuestion({ question: 'Which?', choices: ['red', 'blue'] });

    const messages = renderPrompt(aConfig(), question);

    expect(messages).toEqual([{ role: 'user', content: 'Which?\n\n(A) red\n(B) blue' }]);
  });

  it('sends the images of a question after its prompt', () => {
    const attachments = ['https://example.org/a.png'];
    const image = { kind: 'image', url: 'https://example.org/a.png' };

    const prompts = [
      renderPrompt(aConfig({ prompt: 'Q: {{question}}' }), aQuestion({ attachments })),
      renderPrompt(
        aConfig({ system: 'Be brief.' }),
        aQuestion({
          question: null,
          messages: [
            { role: 'user', content: [{ type: 'text', text: 'Why?' }] },
            { role: 'assistant', content: 'Because.' },
          ],
          attachments,
        }),
      ),
    ];

    expect(prompts).toEqual([
      [{ role: 'user', content: [{ kind: 'text', text: 'Q: What is 6 x 7?' }, image] }],
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ kind: 'text', text: 'Why?' }, image] },
        { role: 'assistant', content: 'Because.' },
      ],
    ]);
  });

  it("returns the question's own messages if it has any", () => {
    const own = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ] as const;
    const question = aQuestion({ question: null, messages: [...own] });

    const messages = renderPrompt(aConfig(), question);

    expect(messages).toEqual(own);
  });

  it('starts with the system prompt if there is one', () => {
    const config = aConfig({ system: 'Be {{question}} brief.' });

    const messages = renderPrompt(config, aQuestion({ question: 'Why?' }));

    expect(messages).toEqual([
      { role: 'system', content: 'Be {{question}} brief.' },
      { role: 'user', content: 'Why?' },
    ]);
  });

  it('fills in every field of a template', () => {
    const config = aConfig({
      prompt:
        '{{ question }}|{{choices}}|{{tags.subtask}}|{{metadata.intro}}|{{metadata.page}}|{{metadata.a.b}}|{ { x } }',
    });
    const question = aQuestion({
      question: 'Which?',
      choices: ['red', 'blue'],
      tags: { subtask: 'snarks' },
      metadata: { intro: 'Intro.', page: 3, 'a.b': ['x'] },
    });

    const [message] = renderPrompt(config, question);

    expect(message?.content).toBe('Which?|(A) red\n(B) blue|snarks|Intro.|3|["x"]|{ { x } }');
  });

  it.each([
    ['question', aQuestion({ question: null, messages: [{ role: 'user', content: 'a' }] })],
    ['choices', aQuestion()],
    ['tags.subtask', aQuestion()],
    ['metadata.intro', aQuestion({ metadata: { intro: null } })],
  ])('rejects a question without %s', (field, question) => {
    const render = () => renderPrompt(aConfig({ prompt: `{{${field}}}` }), question);

    expect(render).toThrow(`question "q1" has no ${field}, which the prompt asks for`);
  });

  it.each([
    ['the only message as it is', [{ role: 'user', content: 'Why?' }], 'Judge: Why?'],
    [
      'each of several messages after its role',
      [
        { role: 'user', content: [{ type: 'text', text: 'Why?' }] },
        { role: 'assistant', content: 'Because.' },
      ],
      'Judge: user: Why?\n\nassistant: Because.',
    ],
  ] as const)('fills in %s', (_, own, expected) => {
    const question = aQuestion({ question: null, messages: [...own] as Question['messages'] });

    const messages = renderPrompt(aConfig({ prompt: 'Judge: {{messages}}' }), question);

    expect(messages).toEqual([{ role: 'user', content: expected }]);
  });

  it('rejects a template for messages with an image', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } } as const;
    const question = aQuestion({ question: null, messages: [{ role: 'user', content: [image] }] });

    const render = () => renderPrompt(aConfig({ prompt: '{{messages}}' }), question);

    expect(render).toThrow('question "q1" has an image in its messages');
  });

  it('inserts any text unchanged', () => {
    const texts = fc.string({ unit: fc.constantFrom('$', '&', '{{', '}}', 'question', '`', 'x') });

    fc.assert(
      fc.property(texts, (text) => {
        const config = aConfig({ prompt: 'Q: {{question}}\nA:' });

        const [message] = renderPrompt(config, aQuestion({ question: text }));

        expect(message?.content).toBe(`Q: ${text}\nA:`);
      }),
    );
  });
});

describe('checkTemplate', () => {
  it.each([
    'no field at all',
    '{{question}} {{ choices }} {{tags.a}} {{metadata.a b}} {{metadata.a.b}}',
    '{single} }}{{',
  ])('accepts %j', (template) => {
    expect(checkTemplate(template)).toEqual([]);
  });

  it('rejects each field that no question has', () => {
    const expected = '(expected question, messages, choices, tags.NAME or metadata.NAME)';

    expect(checkTemplate('{{qestion}} {{question}} {{}} {{target}} {{tags.}}')).toEqual([
      `unknown field {{qestion}}; did you mean {{question}}? ${expected}`,
      `unknown field {{}} ${expected}`,
      `unknown field {{target}} ${expected}`,
      `unknown field {{tags.}} ${expected}`,
    ]);
  });
});
