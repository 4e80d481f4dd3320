import { describe, expect, it } from 'vitest';
import {
  createReplayedModel,
  type RecordedCall,
} from '../../../packages/simulator/src/replayed-model.ts';

const asked = { model: 'm', messages: [{ role: 'user', content: 'Why?' }], temperature: 0.5 };
const prompt = {
  model: 'm',
  userText: 'Why?',
  question: 'Why?',
  arm: undefined,
  promptChars: 4,
  maxTokens: undefined,
  isStream: false,
  isBackground: false,
  includesUsage: false,
};

function aCall(
  text: string,
  cell: Partial<RecordedCall['cell']> = {},
  parts: Partial<RecordedCall> = {},
): RecordedCall {
  return {
    bodies: [asked],
    cell: { run: 'g-r1', config: 'a', id: 'q1', step: 'answer', ...cell },
    sample: 0,
    answer: {
      text,
      finishReason: 'stop',
      completionTokens: 2,
      reasoningTokens: 0,
      latencyMs: 0,
      recorded: { document: { text }, inputTokens: 4 },
    },
    ...parts,
  };
}

/** Returns the texts of answers to requests in turn, each from the given cell. */
function textsOf(
  calls: readonly RecordedCall[],
  cells: readonly (Partial<RecordedCall['cell']> | undefined)[],
  body: object = asked,
): readonly string[] {
  const model = createReplayedModel(calls);
  return cells.map((cell) => {
    const whole = cell && { run: 'h-r1', config: 'a', id: 'q1', step: 'answer', ...cell };
    const answer = model.answer(prompt, whole, JSON.stringify(body));
    return 'status' in answer ? `${answer.status} ${answer.code}` : answer.text;
  });
}

describe('a replayed run', () => {
  it('answers the request of a recorded call with what was recorded', () => {
    const call = aCall('42');

    const answer = createReplayedModel([call]).answer(prompt, undefined, JSON.stringify(asked));

    expect(answer).toEqual(call.answer);
  });

  it.each([
    ['model', { model: 'n' }],
    ['prompt', { messages: [{ role: 'user', content: 'When?' }] }],
    ['parameter', { temperature: 0 }],
    ['further parameter', { seed: 1 }],
  ])('refuses another %s', (_, parts) => {
    expect(textsOf([aCall('42')], [{}], { ...asked, ...parts })).toEqual(['400 no_recording']);
  });

  it.each([
    ['streamed', { stream: true, stream_options: { include_usage: true } }],
    ['kept by the vendor', { background: true, store: true, metadata: { thrice_call: '1' } }],
    ['not kept', { store: false, stream: false }],
  ])('gives the same answer where it is %s', (_, parts) => {
    expect(textsOf([aCall('42')], [{}], { ...asked, ...parts })).toEqual(['42']);
  });

  it('knows a request by each body that it may come with, in any order of keys', () => {
    const moved = { max_tokens: 9, ...asked };
    const call = aCall('42', {}, { bodies: [{ ...asked, max_completion_tokens: 9 }, moved] });
    const { model, messages, temperature } = asked;

    const texts = textsOf([call], [{}], { temperature, messages, model, max_tokens: 9 });

    expect(texts).toEqual(['42']);
  });

  it('gives each cell and step its own answer, however often and in whatever order they ask', () => {
    const steps = [{}, { config: 'b' }, { step: 'sample-2' }, { run: 'g-r2' }];
    const calls = steps.map((cell, index) => aCall(String(index), cell));

    const again = [{ run: 'h-r2' }, { step: 'sample-2' }, {}, { config: 'b' }, {}];

    expect(textsOf(calls, again)).toEqual(['3', '2', '0', '1', '0']);
  });

  it('gives a cell that it does not know an answer of the same replicate', () => {
    const calls = [aCall('1'), aCall('2', { run: 'g-r2' })];

    expect(textsOf(calls, [{ run: 'h-r2', config: 'new' }])).toEqual(['2']);
  });

  it('gives a client that names no cell the samples in order, then again from the first', () => {
    const calls = [
      aCall('r2', { run: 'g-r2' }),
      aCall('r1, second', { step: 'sample-2' }, { sample: 1 }),
      aCall('r1, first', { step: 'sample-1' }),
      aCall('r10', { run: 'g-r10' }),
    ];

    const texts = textsOf(calls, Array.from({ length: 5 }));

    expect(texts).toEqual(['r1, first', 'r1, second', 'r2', 'r10', 'r1, first']);
  });
});
