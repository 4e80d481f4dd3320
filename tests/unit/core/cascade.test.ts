import { type Config, limits, type StepCall } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aBenchmark,
  aCellKey,
  aCombination,
  aConfig,
  aLane,
  aModelResponse,
  anError,
  anOpenBreaker,
  anOutput,
  aQuestion,
  aRole,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { performSteps } from '../../support/perform-steps.ts';

/** Two members, a judge where one decides, and an escalation, each on a model of its own name. */
function aCascade(
  agreement: Config['combination']['agreement'],
  parts: { readonly scorer?: Config['scorer']; readonly judgePrompt?: string } = {},
): Config {
  const { scorer = { kind: 'numeric' }, judgePrompt } = parts;
  const steps = ['member-1', 'member-2', ...(agreement === 'judge' ? ['judge'] : []), 'escalation'];
  return aConfig({
    solver: 'cascade',
    roles: steps.map((step) =>
      aRole({ step, model: step, prompt: step === 'judge' ? judgePrompt : undefined }),
    ),
    combination: aCombination({ agreement, scorer }),
    scorer,
  });
}

function saying(...texts: readonly string[]) {
  const byStep = new Map(['member-1', 'member-2'].map((step, index) => [step, texts[index] ?? '']));
  return ({ step }: StepCall) => byStep.get(step) ?? 'the strong one';
}

describe('a cascade', () => {
  it.each<[NonNullable<Config['combination']['agreement']>, string, string, boolean]>([
    ['text', 'It is\n 42.', ' It  is 42. ', true],
    ['text', '42', 'It is 42.', false],
    ['text', '<think>a lot</think>42', '42', true],
    ['scorer', 'It is 42.', 'The answer is 42', true],
    ['scorer', 'It is 42.', 'The answer is 43', false],
    ['scorer', 'No idea', ' No  idea', true],
    ['scorer', 'No idea', '42', false],
    ['scorer', 'No idea', 'Who knows', false],
    ['code', 'Here:\n```py\nx = 1\n\n```\nDone.', '```\n  x = 1  \n```', true],
    ['code', '```py\nx = 1\n```', '```py\nx = 2\n```', false],
    ['oracle', 'It is 41.', 'It is 42.', true],
    ['oracle', 'It is 41.', 'It is 43.', false],
  ])('by %s takes %j and %j to agree: %s', async (agreement, first, second, doesAgree) => {
    const { steps } = await performSteps(aCascade(agreement), aQuestion(), saying(first, second));

    expect(steps).toEqual(['member-1', 'member-2', ...(doesAgree ? [] : ['escalation'])]);
  });

  it.each([
    ['the first member where all agree', 'scorer', ['It is 42.', '42'], 'It is 42.'],
    ['the escalation where they do not', 'scorer', ['It is 42.', '43'], 'the strong one'],
    ['the member that is right, by oracle', 'oracle', ['41', 'It is 42.'], 'It is 42.'],
  ] as const)('answers as %s', async (_, agreement, said, expected) => {
    const { answer } = await performSteps(aCascade(agreement), aQuestion(), saying(...said));

    expect(answer).toBe(expected);
  });

  it.each([
    ['YES', true],
    [' yes, they do', true],
    ['<think>No, wait.</think>\nYes.', true],
    ['NO', false],
    ['I think yes', false],
    ['', false],
  ])('by judge takes the reply %j for agreement: %s', async (reply, doesAgree) => {
    const config = aCascade('judge');

    const { steps } = await performSteps(config, aQuestion(), ({ step }) =>
      step === 'judge' ? reply : '42',
    );

    expect(steps).toEqual(['member-1', 'member-2', 'judge', ...(doesAgree ? [] : ['escalation'])]);
  });

  it('shows the question and the answers to its judge, without the reasoning', async () => {
    const requests: StepCall[] = [];
    const question = aQuestion({ question: 'Why {{answer_1}}?' });

    await performSteps(aCascade('judge'), question, (call) => {
      requests.push(call);
      return call.step === 'member-1' ? '<think>{{question}}</think>So {{question}}.' : 'Thus.';
    });

    expect(requests[2]?.request.messages).toEqual([
      {
        role: 'user',
        content:
          'Do all of these answers to the same question come to the same final answer? Reply with YES or NO.\n\nQuestion:\nWhy {{answer_1}}?\n\nAnswer 1:\nSo {{question}}.\n\nAnswer 2:\nThus.',
      },
    ]);
  });

  it("asks its judge as the judge's own prompt says", async () => {
    const requests: StepCall[] = [];
    const config = aCascade('judge', {
      judgePrompt: '{{answer_2}} = {{answer_1}}? ({{question}})',
    });

    await performSteps(config, aQuestion({ question: 'Why?' }), (call) => {
      requests.push(call);
      return call.step;
    });

    expect(requests[2]?.request.messages).toEqual([
      { role: 'user', content: 'member-2 = member-1? (Why?)' },
    ]);
  });

  it('keeps an escalation that is recorded, also if the members would agree by now', async () => {
    const config = aCascade('scorer', { scorer: { kind: 'exact' } });
    const { journal, answer } = await performSteps(config, aQuestion(), saying('42', '42.'));
    const lenient = aCascade('scorer');

    const engine = engineOf(lenient);
    for (const entry of journal.values()) await engine.ledger.commitCall(aCellKey(), entry);
    engine.ledger.putCell({
      ...{ key: aCellKey(), state: 'released', generation: 0, attempts: 0, attemptLog: [] },
    });
    await engine.work(await engine.deliver());

    expect(engine.models.requests).toEqual([]);
    expect(engine.ledger.cell(aCellKey())?.result?.output).toBe(answer);
  });
});

function engineOf(config: Config): FakeEngine {
  const roles = config.roles.map((role) =>
    role.step === 'judge' ? { ...role, lane: 'judges' } : role,
  );
  const lanes = new Map([aLane(), aLane({ name: 'judges' })].map((lane) => [lane.name, lane]));
  return new FakeEngine({
    benchmark: aBenchmark({ configs: [{ ...config, roles }], lanes, maxAttempts: 2 }),
  });
}

describe('a cascade whose judge is on a lane of its own', () => {
  it('asks no member again while the judge is refused', async () => {
    const engine = engineOf(aCascade('judge'));
    let refusalCount = 5;
    engine.models.become(({ step, model }) => {
      if (step !== 'judge')
        return aModelResponse({ servedModel: model, output: anOutput({ text: '42' }) });
      refusalCount -= 1;
      if (refusalCount >= 0) return anError('model-rate-limited');
      return aModelResponse({ servedModel: model, output: anOutput({ text: 'YES' }) });
    });
    await engine.deliver();

    await engine.workAll();

    const steps = engine.models.requests.map(({ step }) => step);
    expect(steps).toEqual(['member-1', 'member-2', ...Array.from({ length: 6 }, () => 'judge')]);
    expect(engine.ledger.cell(aCellKey())?.result).toMatchObject({ score: 1, attempts: 3 });
  });

  it('defers a cell at the judge whose lane is blocked, and asks no member again', async () => {
    const engine = engineOf(aCascade('judge'));
    engine.models.become(({ model }) =>
      aModelResponse({ servedModel: model, output: anOutput({ text: 'YES' }) }),
    );
    engine.openBreakers.set('judges', anOpenBreaker({ breakerKey: 'judges' }));

    const settlement = await engine.work(await engine.deliver());
    engine.openBreakers.clear();
    engine.clock.advance(limits.deferredDelayMs);
    await engine.workAll();

    expect(settlement).toMatchObject({ kind: 'release', breakerKey: 'judges' });
    expect(engine.models.requests.map(({ step }) => step)).toEqual([
      'member-1',
      'member-2',
      'judge',
    ]);
  });
});
