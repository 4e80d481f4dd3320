import {
  executeCell,
  Heartbeat,
  limits,
  parseSpec,
  requestOf,
  resolveBenchmark,
  type Solver,
  type TaskSettlement,
  toSolverRegistry,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { Call } from '../../../packages/core/src/domain/call.ts';
import {
  aBenchmark,
  aCellKey,
  aConfig,
  aModelResponse,
  anError,
  anOutput,
  aQuestion,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { Steps } from '../../support/steps.ts';

const prices = new Map([['lab/m', { input: 100_000, output: 0 }]]);

/** An engine whose configs are called `a`, `b` and so on, all of them the same but for what is given. */
function engineOf(
  configs: readonly Parameters<typeof aConfig>[0][],
  init: {
    readonly answer?: FakeAnswer;
    readonly solvers?: readonly Solver[];
    readonly sharesCalls?: boolean;
  } = {},
): FakeEngine {
  const { answer, solvers, sharesCalls = true } = init;
  const named = configs.map((parts, index) => aConfig({ name: 'abcd'.charAt(index), ...parts }));
  return new FakeEngine({
    benchmark: aBenchmark({ configs: named, prices, sharesCalls }),
    ...(answer !== undefined && { answer }),
    ...(solvers !== undefined && { solvers: toSolverRegistry(solvers) }),
  });
}

async function work(engine: FakeEngine, config: string, task: { readonly run?: string } = {}) {
  return await engine.work(await engine.deliver(aQuestion(), { config, ...task }));
}

function callsOf(engine: FakeEngine, config: string): readonly Call[] {
  return engine.ledger.cell(aCellKey({ config }))?.result?.calls ?? [];
}

/** A solver that asks the same twice. */
const twice: Solver = {
  kind: 'twice',
  next: ({ config, prompt, journal }) => {
    const [, second] = [...journal.values()];
    if (second !== undefined)
      return { kind: 'answer', output: second.output, finishReason: second.call.finishReason };
    return { kind: 'call', step: `sample-${journal.size + 1}`, request: requestOf(config, prompt) };
  },
};

describe('configs that share calls', () => {
  it('buy what they have in common once, and the taker says who has paid', async () => {
    const engine = engineOf([{}, { scorer: { kind: 'includes' } }]);

    await work(engine, 'a');
    await work(engine, 'b');

    expect(engine.models.requests).toHaveLength(1);
    const [bought] = callsOf(engine, 'a');
    expect(bought).toMatchObject({ costUsd: 1, replayed: false, takenFrom: null });
    const takenFrom = { run: 'demo-r1', id: 'q1', config: 'a', step: 'answer' };
    expect(callsOf(engine, 'b')).toEqual([{ ...bought, costUsd: 0, replayed: true, takenFrom }]);
    const results = ['a', 'b'].map((config) => engine.ledger.cell(aCellKey({ config }))?.result);
    expect(results).toMatchObject([
      { outcome: 'scored', costUsd: 1 },
      { outcome: 'scored', costUsd: 0 },
    ]);
    expect(engine.governor.granted).toHaveLength(1);
  });

  it('are told apart from configs that do not', async () => {
    const engine = engineOf([{}, {}], { sharesCalls: false });

    await work(engine, 'a');
    await work(engine, 'b');

    expect(engine.models.requests).toHaveLength(2);
    expect(callsOf(engine, 'b')).toMatchObject([{ costUsd: 1, takenFrom: null }]);
  });

  it.each([
    ['a request that differs', [{}, { temperature: 0 }], {}],
    ['another replicate', [{}, {}], { run: 'demo-r2' }],
  ])('buy %s', async (_, configs, task) => {
    const engine = engineOf(configs);

    await work(engine, 'a');
    await work(engine, 'b', task);

    expect(engine.models.requests).toHaveLength(2);
  });

  it('take each sample of a request that a solver makes more than once', async () => {
    const texts = ['41', '42', '43'];
    const answer: FakeAnswer = () =>
      aModelResponse({ output: anOutput({ text: texts.shift() ?? '' }) });
    const engine = engineOf([{ solver: 'twice' }, { solver: 'twice' }], {
      answer,
      solvers: [twice],
    });

    await work(engine, 'a');
    await work(engine, 'b');

    expect(engine.models.requests).toHaveLength(2);
    expect(engine.ledger.cell(aCellKey({ config: 'b' }))?.result?.output).toBe('42');
    expect(callsOf(engine, 'b').map(({ takenFrom }) => takenFrom?.step)).toEqual([
      'sample-1',
      'sample-2',
    ]);
  });

  it('wait while another buys, then give the cell back until the other has', async () => {
    const engine = engineOf([{}, {}]);
    const settlements: unknown[] = [];
    engine.models.become(async () => {
      settlements.push(await work(engine, 'b'));
      return aModelResponse();
    });

    await work(engine, 'a');
    settlements.push(await work(engine, 'b'));

    expect(settlements).toEqual([
      { kind: 'release', delayMs: expect.any(Number) as number },
      { kind: 'acknowledge' },
    ]);
    expect(engine.clock.sleptMs.length).toBeGreaterThan(0);
    expect(Math.max(...engine.clock.sleptMs)).toBeLessThanOrEqual(limits.inDeliveryWaitMs);
    expect(engine.models.requests).toHaveLength(1);
  });

  it('buy it if the other has failed', async () => {
    const engine = engineOf([{}, {}], { answer: () => anError('invalid-request') });
    await work(engine, 'a');
    engine.models.become(() => aModelResponse());

    await work(engine, 'b');

    expect(callsOf(engine, 'b')).toMatchObject([{ costUsd: 1, takenFrom: null }]);
  });

  it('buy it if the other has died before it was recorded', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    };
    const engine = engineOf([{}, {}], { answer });
    void work(engine, 'a');
    await asked.promise;
    engine.models.become(() => aModelResponse());
    engine.clock.advance(limits.leaseMs + 1);

    await work(engine, 'b');

    expect(callsOf(engine, 'b')).toMatchObject([{ costUsd: 1, takenFrom: null }]);
  });

  it('take it if the other has died after it was recorded', async () => {
    const engine = engineOf([{}, {}]);
    engine.ledger.failNext('completeCell', new Error('killed'));
    engine.ledger.failNext('releaseCell', new Error('killed'));
    await expect(work(engine, 'a')).rejects.toThrow('killed');
    engine.clock.advance(limits.leaseMs + 1);

    await work(engine, 'b');

    expect(engine.models.requests).toHaveLength(1);
    expect(callsOf(engine, 'b')).toMatchObject([{ costUsd: 0, takenFrom: { config: 'a' } }]);
  });

  it('take nothing twice: a cell that is taken over replays what it took', async () => {
    const engine = engineOf([{}, {}]);
    await work(engine, 'a');
    engine.ledger.failNext('completeCell', new Error('killed'));
    await expect(work(engine, 'b')).rejects.toThrow('killed');

    await work(engine, 'b');

    expect(callsOf(engine, 'b')).toMatchObject([{ costUsd: 0, takenFrom: { config: 'a' } }]);
    expect(engine.ledger.log.filter((name) => name === 'commitCall')).toHaveLength(2);
  });

  it('do not take the answer of another model than their own policy allows', async () => {
    const engine = engineOf([{ servedModel: 'allow' }, { servedModel: 'pin' }], {
      answer: () => aModelResponse({ servedModel: 'other' }),
    });
    await work(engine, 'a');
    engine.models.become(() => aModelResponse());

    await work(engine, 'b');

    expect(callsOf(engine, 'b')).toMatchObject([{ servedModel: 'm', takenFrom: null }]);
  });
});

describe('a stage whose configs share calls', () => {
  const configs = [{ name: 'a' }, { name: 'b' }];

  it('sends the task of a cell again, as progress, while another buys its call', async () => {
    const stage = new FakeStage();
    await stage.enter({ configs, sharesCalls: true });
    const settlements: TaskSettlement[] = [];
    stage.models.become(async () => {
      settlements.push(await stage.answer(await stage.deliver({ config: 'b' })));
      return aModelResponse();
    });

    await stage.answer(await stage.deliver({ config: 'a' }));
    settlements.push(await stage.answer(await stage.deliver({ config: 'b' })));

    expect(settlements).toMatchObject([{ kind: 'resend' }, { kind: 'acknowledge' }]);
    expect(settlements[0]).not.toMatchObject({ task: { resends: expect.anything() as unknown } });
    expect(stage.models.requests).toHaveLength(1);
    expect(stage.cell({ config: 'b' })?.result).toMatchObject({ outcome: 'scored', costUsd: 0 });
  });

  it('buys a call once and loses none, wherever its buyer is killed', async () => {
    const unharmed = new Steps();
    const first = new FakeStage();
    await first.enter({ configs, sharesCalls: true });
    await first.answer(await first.deliver({ config: 'a' }), { steps: unharmed });

    for (const [at, name] of unharmed.names.entries()) {
      const stage = new FakeStage();
      await stage.enter({ configs, sharesCalls: true });
      const steps = new Steps({ at, takesEffect: true, crashesProcess: true });
      const killed = stage.answer(await stage.deliver({ config: 'a' }), { steps });
      await expect(killed, name).rejects.toThrow();
      stage.clock.advance(limits.leaseMs + 1);

      for (const config of ['b', 'a'])
        await stage.answer(await stage.deliver({ config }), { isRedelivered: true });

      const results = ['a', 'b'].map((config) => stage.cell({ config })?.result?.outcome);
      expect(results, name).toEqual(['scored', 'scored']);
      // Between the call and its record nothing is known of it.
      const isCallLost = name === 'models.send';
      expect(stage.models.requests, name).toHaveLength(isCallLost ? 2 : 1);
    }
  });
});

describe('four arms over the same models', () => {
  const methodical = { model: 'lab/small', system: 'Be methodical.' };
  const large = { ...methodical, model: 'lab/large' };
  const cascade = {
    solver: 'cascade',
    members: [methodical, { ...methodical, system: 'Be pragmatic.' }],
    escalate: large,
    scorer: 'numeric',
  };
  const spec = {
    questions: 'questions.jsonl',
    lanes: { lab: { base_url: 'http://127.0.0.1:1800/v1' } },
    configs: [
      { name: 'small', ...methodical, scorer: 'numeric' },
      { name: 'large', ...large, scorer: 'numeric' },
      { name: 'lexical', ...cascade, agreement: 'text' },
      { name: 'judge', ...cascade, agreement: 'judge', judge: { model: 'lab/judge' } },
    ],
  };
  const arms = spec.configs.map(({ name }) => name);
  const questions = Array.from({ length: 99 }, (_, index) =>
    aQuestion({ id: `q${index}`, question: `Question ${index}?` }),
  );
  /** The two answers differ for 9 questions, and the judge finds 6 differences. */
  const answer: FakeAnswer = ({ messages, model }) => {
    const asked = messages.map(({ content }) => String(content)).join('\n');
    const number = Number(/Question (\d+)/.exec(asked)?.[1]);
    const memberText = asked.includes('Be pragmatic') && number < 9 ? '41' : '42';
    const text = model === 'judge' ? (number < 6 ? 'NO' : 'YES') : memberText;
    return aModelResponse({ output: anOutput({ text }), servedModel: model });
  };

  /** Two workers at once over all cells. */
  async function workWith(sharesCalls: boolean): Promise<FakeEngine> {
    const parsed = parseSpec({ ...spec, share_calls: sharesCalls }, 'arms.toml');
    const benchmark = resolveBenchmark(parsed, 'arms.toml');
    const engine = new FakeEngine({ benchmark, answer });
    for (const config of arms) {
      for (const question of questions) await engine.deliver(question, { config });
    }
    const { ledger, queue, clock } = engine;
    const other = {
      ...engine.worker,
      owner: 'worker-2',
      heartbeat: new Heartbeat({ ledger, queue, clock, owner: 'worker-2' }),
    };
    while (queue.leftCount > 0) {
      const deliveries = await queue.receive('lab', 16);
      await Promise.all(
        deliveries.map(async (delivery, index) => {
          const settlement = await executeCell(delivery, index % 2 === 0 ? engine.worker : other);
          if (settlement.kind === 'acknowledge') await queue.acknowledge(delivery);
          else await queue.release(delivery, settlement.delayMs);
        }),
      );
      clock.advance(limits.leaseMs);
    }
    return engine;
  }

  it('make 708 calls apart, and at most 396 together, with the same answers', async () => {
    const apart = await workWith(false);
    const together = await workWith(true);

    expect(apart.models.requests).toHaveLength(708);
    expect(together.models.requests).toHaveLength(99 * 4);
    const answersOf = (engine: FakeEngine) =>
      arms.flatMap((config) =>
        questions.map(
          ({ id }) => engine.ledger.cell({ run: 'demo-r1', config, id })?.result?.output,
        ),
      );
    expect(answersOf(together)).toEqual(answersOf(apart));
  });
});
