import { executeCell, limits, type ModelRequest } from '@thrice/core';
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
  aRole,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';

const key = aCellKey();

/** A router over `lab/m` and `spare/n`, whose cells fail over. */
function engineWith(answer: FakeAnswer, withoutKey: readonly string[] = []): FakeEngine {
  const config = aConfig({
    solver: 'router',
    roles: [aRole({ step: 'model-1' }), aRole({ step: 'model-2', lane: 'spare', model: 'n' })],
    combination: aCombination({ failsOver: true, withoutKey }),
  });
  const lanes = new Map([aLane(), aLane({ name: 'spare' })].map((lane) => [lane.name, lane]));
  return new FakeEngine({
    benchmark: aBenchmark({ configs: [config], lanes, maxAttempts: 2 }),
    answer,
  });
}

/** Answers as the model that is asked. */
function answerOf({ model }: ModelRequest) {
  return aModelResponse({ servedModel: model, output: anOutput({ text: '42' }) });
}

function failing(lane: string, code: Parameters<typeof anError>[0]): FakeAnswer {
  return (request) => (request.lane.name === lane ? anError(code) : answerOf(request));
}

function asked(engine: FakeEngine): readonly string[] {
  return engine.models.requests.map(({ lane, model, step }) => `${lane.name}/${model} ${step}`);
}

describe('a router', () => {
  it('asks the first model alone while it answers', async () => {
    const engine = engineWith(answerOf);

    await engine.work(await engine.deliver());

    expect(asked(engine)).toEqual(['lab/m model-1']);
    expect(engine.ledger.cell(key)?.result).toMatchObject({ score: 1, attempts: 1 });
    expect(engine.ledger.cell(key)?.result?.calls[0]).not.toHaveProperty('insteadOf');
  });

  it('asks the next model where the first rejects the question, and records why', async () => {
    const engine = engineWith(failing('lab', 'context-too-long'));

    await engine.work(await engine.deliver());

    expect(asked(engine)).toEqual(['lab/m model-1', 'spare/n model-2']);
    expect(engine.ledger.cell(key)?.result).toMatchObject({
      outcome: 'scored',
      attempts: 2,
      calls: [
        {
          step: 'model-2',
          lane: 'spare',
          insteadOf: [{ model: 'lab/m', code: 'context-too-long' }],
        },
      ],
    });
  });

  it('asks the next model once the attempts at the first are used up, with attempts of its own', async () => {
    let failureCount = 3;
    const engine = engineWith((request) => {
      if (failureCount === 0) return answerOf(request);
      failureCount -= 1;
      return anError('model-timeout');
    });
    await engine.deliver();

    await engine.workAll();

    expect(asked(engine)).toEqual([
      'lab/m model-1',
      'lab/m model-1',
      'spare/n model-2',
      'spare/n model-2',
    ]);
    expect(engine.ledger.cell(key)?.result).toMatchObject({ outcome: 'scored', attempts: 4 });
  });

  it('asks the next model while the lane of the first is blocked', async () => {
    const engine = engineWith(failing('lab', 'quota-exhausted'));
    await engine.work(await engine.deliver());
    await engine.work(await engine.deliver(undefined, { id: 'q2' }));

    expect(asked(engine)).toEqual(['lab/m model-1', 'spare/n model-2', 'spare/n model-2']);
    expect(engine.ledger.cell(aCellKey({ id: 'q2' }))?.result?.calls).toMatchObject([
      { step: 'model-2', insteadOf: [{ model: 'lab/m', code: 'quota-exhausted' }] },
    ]);
  });

  it('waits for a breaker when every model is blocked, without a claim', async () => {
    const engine = engineWith(answerOf);
    for (const breakerKey of ['lab', 'spare/n'])
      engine.openBreakers.set(breakerKey, anOpenBreaker({ breakerKey }));

    const settlement = await engine.work(await engine.deliver());

    expect(settlement).toEqual({
      kind: 'release',
      delayMs: limits.deferredDelayMs,
      breakerKey: 'lab',
    });
    expect(engine.ledger.log).toEqual([]);
  });

  it('waits for a blocked model where the others have failed, and does not ask those again', async () => {
    const engine = engineWith(failing('spare', 'content-filtered'));
    engine.openBreakers.set('lab', anOpenBreaker({ breakerKey: 'lab' }));

    const waiting = await engine.work(await engine.deliver());
    engine.openBreakers.clear();
    engine.clock.advance(limits.deferredDelayMs);
    await engine.workAll();

    expect(waiting).toMatchObject({ kind: 'release', breakerKey: 'lab' });
    expect(asked(engine)).toEqual(['spare/n model-2', 'lab/m model-1']);
    expect(engine.ledger.cell(key)?.result).toMatchObject({ outcome: 'scored' });
  });

  it('does not ask a model again that an earlier delivery gave up, and remembers why', async () => {
    let refusalCount = 1;
    const engine = engineWith((request) => {
      if (request.lane.name === 'lab') return anError('context-too-long');
      refusalCount -= 1;
      return refusalCount < 0 ? answerOf(request) : anError('model-rate-limited');
    });
    await engine.deliver();

    await engine.workAll();

    expect(asked(engine)).toEqual(['lab/m model-1', 'spare/n model-2', 'spare/n model-2']);
    expect(engine.ledger.cell(key)?.result?.calls).toMatchObject([
      { insteadOf: [{ model: 'lab/m', code: 'context-too-long' }] },
    ]);
  });

  it('fails with the error of the last model where every one fails', async () => {
    const engine = engineWith(({ lane }) =>
      anError(lane.name === 'lab' ? 'context-too-long' : 'content-filtered'),
    );

    await engine.work(await engine.deliver());

    expect(engine.ledger.cell(key)?.result).toMatchObject({
      outcome: 'failed',
      reason: 'content-filtered',
      attempts: 2,
    });
  });

  it('asks every model again when its failed cell is run again', async () => {
    const engine = engineWith(() => anError('content-filtered'));
    await engine.work(await engine.deliver());
    engine.models.become(answerOf);

    await engine.work(await engine.deliver(undefined, { generation: 1 }));

    expect(asked(engine).at(-1)).toBe('lab/m model-1');
    expect(engine.ledger.cell(key)?.result).toMatchObject({ outcome: 'scored', attempts: 1 });
  });

  it('takes the recorded answer of the model that was asked instead when a worker takes over', async () => {
    const engine = engineWith(failing('lab', 'context-too-long'));
    const delivery = await engine.deliver();
    engine.ledger.failNext('completeCell', anError('store-unavailable'));
    await executeCell(delivery, engine.worker).catch(() => undefined);
    engine.clock.advance(limits.leaseMs);

    await engine.work(delivery);

    expect(asked(engine)).toEqual(['lab/m model-1', 'spare/n model-2']);
    expect(engine.ledger.cell(key)?.result?.calls).toMatchObject([
      { step: 'model-2', replayed: true, insteadOf: [{ code: 'context-too-long' }] },
    ]);
  });

  it('says of each answer which models had no key', async () => {
    const engine = engineWith(answerOf, ['openai/gpt-5.2']);

    await engine.work(await engine.deliver());

    expect(engine.ledger.cell(key)?.result?.calls).toMatchObject([
      { insteadOf: [{ model: 'openai/gpt-5.2', code: 'missing-key' }] },
    ]);
  });
});
