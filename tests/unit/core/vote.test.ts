import type { Config } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { NO_OUTPUT } from '../../../packages/core/src/domain/call.ts';
import { aCombination, aConfig, aQuestion, aRole } from '../../support/builders.ts';
import { performSteps } from '../../support/perform-steps.ts';

function aVote(count: number, weights?: readonly number[]): Config {
  const scorer = { kind: 'numeric' };
  return aConfig({
    solver: 'vote',
    roles: Array.from({ length: count }, (_, index) => aRole({ step: `member-${index + 1}` })),
    combination: aCombination({ scorer, weights }),
    scorer,
  });
}

async function winnerOf(texts: readonly string[], weights?: readonly number[]) {
  const said = [...texts];
  const config = aVote(texts.length, weights);
  return await performSteps(config, aQuestion(), () => said.shift() ?? '');
}

describe('a vote', () => {
  it('asks every member once', async () => {
    expect((await winnerOf(['1', '1', '2'])).steps).toEqual(['member-1', 'member-2', 'member-3']);
  });

  it.each<[string, readonly string[], string, (readonly number[])?]>([
    ['the answer of most members, as the scorer reads it', ['7', 'It is 42.', '42'], 'It is 42.'],
    ['the first of answers with as many votes', ['7', '42', '42', '7', '1'], '7'],
    ['the answer with most weight', ['7', '42', '42'], '7', [3, 1, 1]],
    ['the first answer where sums of weights are equal', ['7', '42', '42'], '7', [0.3, 0.1, 0.2]],
    ['a single answer beside texts without one', ['none', 'nothing', '42'], '42'],
    ['the first text where none has an answer', ['none', 'nothing'], 'none'],
  ])('gives %s', async (_, texts, expected, weights) => {
    expect((await winnerOf(texts, weights)).answer).toBe(expected);
  });

  it('counts no vote of a member that refused', async () => {
    const config = aVote(3);
    const refused = { ...NO_OUTPUT, text: null, refusal: 'No 7.' };
    const said = [refused, refused, { ...NO_OUTPUT, text: '42' }];

    const { answer } = await performSteps(config, aQuestion(), () => said.shift() ?? refused);

    expect(answer).toBe('42');
  });
});
