import { limits, rerunCells } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aBenchmark,
  aConfig,
  aModelResponse,
  anError,
  anOutput,
  aQuestion,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

const four = ['good', 'bad', 'unread', 'open'].map((id) =>
  aQuestion({ id, target: id === 'open' ? null : ['42'] }),
);

describe('a rerun', () => {
  it('sends the cells without a score in their next generation', async () => {
    const { engine, header, run } = await workedOn();
    const before = engine.queue.sent.length;

    const count = await rerunCells(header, [run], engine.benchmark.configs, engine);

    const sent = engine.queue.sent.slice(before);
    expect(count).toBe(2);
    expect(sent.map(({ lane, task }) => [lane, task.id, task.generation])).toEqual([
      ['lab', 'bad', 1],
      ['lab', 'open', 1],
    ]);
  });

  it('sends the same tasks as the plan, except for the generation', async () => {
    const { engine, header, run } = await workedOn();
    const planned = engine.queue.sent.find(({ task }) => task.id === 'bad')?.task;
    const before = engine.queue.sent.length;

    await rerunCells(header, [run], engine.benchmark.configs, engine);

    expect(engine.queue.sent[before]?.task).toEqual({ ...planned, generation: 1 });
  });

  it('keeps scores and answers the other cells again', async () => {
    const { engine, header, run } = await workedOn();
    const grade = engine.ledger.cell({ run, config: 'direct', id: 'good' });
    const callCount = engine.models.requests.length;
    engine.models.become(() => aModelResponse());

    await rerunCells(header, [run], engine.benchmark.configs, engine);
    await engine.workAll();

    expect(engine.ledger.cell({ run, config: 'direct', id: 'good' })).toEqual(grade);
    expect(engine.ledger.cell({ run, config: 'direct', id: 'bad' })).toMatchObject({
      generation: 1,
      result: { outcome: 'scored', score: 1, attempts: 1 },
    });
    // The open question's call is in the journal and is not paid for again.
    expect(engine.models.requests.slice(callCount).map(({ cell }) => cell.id)).toEqual(['bad']);
  });

  it('is harmless if it is sent twice', async () => {
    const { engine, header, run } = await workedOn();
    const callCount = engine.models.requests.length;
    engine.models.become(() => aModelResponse());

    await rerunCells(header, [run], engine.benchmark.configs, engine);
    await rerunCells(header, [run], engine.benchmark.configs, engine);
    await engine.workAll();

    expect(engine.models.requests.length).toBe(callCount + 1);
  });

  it('can be repeated, with one more generation each time', async () => {
    const { engine, header, run } = await workedOn();

    await rerunCells(header, [run], engine.benchmark.configs, engine);
    await engine.workAll();
    const before = engine.queue.sent.length;
    await rerunCells(header, [run], engine.benchmark.configs, engine);

    expect(engine.queue.sent.slice(before).map(({ task }) => task.generation)).toEqual([2, 2]);
  });

  it('does not send cells that were never attempted, because their tasks are in the queue', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan(four);
    const before = engine.queue.sent.length;

    const count = await rerunCells(
      header,
      header.runs.slice(0, 1),
      engine.benchmark.configs,
      engine,
    );

    expect(count).toBe(0);
    expect(engine.queue.sent.length).toBe(before);
  });

  it('is limited to the given configs and run, and to the questions they select', async () => {
    const configs = [
      aConfig({ name: 'a', select: { start: 1, limit: 1 } }),
      aConfig({ name: 'b' }),
    ];
    const engine = new FakeEngine({
      benchmark: aBenchmark({ maxAttempts: 1, replicates: 2, configs }),
      answer: () => anError('invalid-request'),
    });
    const header = await engine.plan(four);
    await engine.workAll();
    const before = engine.queue.sent.length;

    await rerunCells(header, header.runs.slice(1, 2), configs.slice(0, 1), engine);

    const sent = engine.queue.sent.slice(before).map(({ task }) => task);
    expect(sent).toMatchObject([{ run: header.runs[1], config: 'a', id: 'bad' }]);
  });

  it('counts the cells of all pages', async () => {
    const many = Array.from({ length: limits.pageSize + 1 }, (_, at) =>
      aQuestion({ id: `q${at}` }),
    );
    const engine = new FakeEngine({ answer: () => anError('invalid-request') });
    const header = await engine.plan(many);
    await engine.workAll();

    const count = await rerunCells(
      header,
      header.runs.slice(0, 1),
      engine.benchmark.configs,
      engine,
    );

    expect(count).toBe(limits.pageSize + 1);
  });
});

/** A run with a scored cell, a failed one, an unparsed one and an ungraded one. */
async function workedOn() {
  const engine = new FakeEngine({
    benchmark: aBenchmark({ configs: [aConfig({ scorer: { kind: 'numeric', tolerance: 0 } })] }),
    answer: ({ cell }) => {
      if (cell.id === 'bad') return anError('invalid-request');
      const text = cell.id === 'unread' ? 'none' : '42';
      return aModelResponse({ output: anOutput({ text }) });
    },
  });
  const header = await engine.plan(four);
  await engine.workAll();
  return { engine, header, run: header.runs[0] ?? '' };
}
