import { describe, expect, it } from 'vitest';
import { findMissingAnswer } from '../../../packages/models/src/call/find-missing-answer.ts';
import { aUsage } from '../../support/builders.ts';

type Answer = Parameters<typeof findMissingAnswer>[0];

function anAnswer(output: Partial<Answer['output']>, rest: Partial<Answer> = {}): Answer {
  return {
    output: { text: null, images: [], toolCalls: [], reasoning: null, refusal: null, ...output },
    finishReason: 'stop',
    usage: aUsage({ inputTokens: 9, outputTokens: null }),
    ...rest,
  };
}

describe('findMissingAnswer', () => {
  it('finds a completion that stopped without anything', () => {
    expect(findMissingAnswer(anAnswer({}))?.code).toBe('truncated-response');
  });

  it.each<[string, Answer]>([
    ['an empty text', anAnswer({ text: '' })],
    ['reasoning alone', anAnswer({ reasoning: 'hm' })],
    ['a refusal', anAnswer({ refusal: 'no' })],
    ['a tool call', anAnswer({ toolCalls: [{ id: '1', name: 'add', arguments: '{}' }] })],
    ['nothing within the token limit', anAnswer({}, { finishReason: 'length' })],
    ['a filter', anAnswer({}, { finishReason: 'content-filter' })],
    [
      'tokens without a word',
      anAnswer(
        {},
        {
          usage: aUsage({ outputTokens: 12, reasoningTokens: 12 }),
        },
      ),
    ],
  ])('takes %s as the answer that it is', (_, answer) => {
    expect(findMissingAnswer(answer)).toBeUndefined();
  });
});
