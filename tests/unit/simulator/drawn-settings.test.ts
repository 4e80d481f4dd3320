import { describe, expect, it } from 'vitest';
import { createBehaviourModel } from '../../../packages/simulator/src/behaviour-model.ts';
import type { ModelBehaviour } from '../../../packages/simulator/src/load-behaviour.ts';
import { RequestCounter } from '../../../packages/simulator/src/request-stats.ts';
import type { ModelAnswer } from '../../../packages/simulator/src/simulated-model.ts';

const questions = Array.from({ length: 20 }, (_, index) => ({
  id: `q${index}`,
  question: `What is ${index} + 1?`,
  target: String(index + 1),
}));

const request = {
  model: 'm',
  userText: undefined,
  arm: undefined,
  promptChars: 20,
  maxTokens: undefined,
  isStream: false,
  isBackground: false,
  includesUsage: false,
};

/** The answers of a model with these settings. */
function answersOf(settings: Partial<ModelBehaviour>): readonly ModelAnswer[] {
  const models = { m: { accuracy: 0.5, latencyMs: { median: 100 }, ...settings } };
  const model = createBehaviourModel({ seed: 1, models }, questions);
  return questions.map(({ question }) => {
    const answer = model.answer({ ...request, question }, undefined, '');
    if ('status' in answer) throw new Error('expected an answer');
    return answer;
  });
}

describe('a simulated model', () => {
  it.each<Partial<ModelBehaviour>>([{ unparsedRate: 0 }, { reasoningTokens: { median: 0 } }])(
    'decides everything else as before when one setting is added: %o',
    (setting) => {
      expect(answersOf(setting)).toEqual(answersOf({}));
    },
  );
});

describe('the counts of requests', () => {
  it('do not change after they were read', () => {
    const counter = new RequestCounter();
    counter.open();
    counter.ask('q1');

    const { requestsByQuestion } = counter.snapshot([]);
    counter.ask('q1');
    counter.close('q1', true);

    expect([...requestsByQuestion]).toEqual([['q1', { requests: 1, ok: 0 }]]);
  });
});
