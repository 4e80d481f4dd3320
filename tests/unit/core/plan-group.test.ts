import {
  BUILTIN_PRICES_VERSION,
  type CellTask,
  enqueueGroup,
  groupKey,
  limits,
  loadGroup,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../../packages/core/src/cells/read-question.ts';
import {
  aBenchmark,
  aConfig,
  aGroupHeader,
  aLane,
  anError,
  aPlannedConfig,
  aQuestion,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { sha256 } from '../../support/fake-source-reader.ts';

const two = [aQuestion({ id: 'q1' }), aQuestion({ id: 'q2' })];
const twoLanes = aBenchmark({
  replicates: 2,
  lanes: new Map([aLane(), aLane({ name: 'spare' })].map((lane) => [lane.name, lane])),
  configs: [
    aConfig({ name: 'a' }),
    aConfig({ name: 'b', lane: 'spare' }),
    aConfig({ name: 'c', select: { start: 1 } }),
  ],
});

describe('a planned group', () => {
  it('is named after its label and creation time, and its runs after the group', async () => {
    const engine = new FakeEngine({ benchmark: aBenchmark({ replicates: 3 }) });

    const header = await engine.plan(two, { draft: { label: 'gold' } });

    expect(header).toMatchObject({
      schemaVersion: 1,
      group: 'gold-20260102T030405Z-0000',
      label: 'gold',
      createdAt: '2026-01-02T03:04:05.000Z',
      runs: [
        'gold-20260102T030405Z-0000-r1',
        'gold-20260102T030405Z-0000-r2',
        'gold-20260102T030405Z-0000-r3',
      ],
      configs: [{ config: 'direct', cells: 2, skipped: null }],
    });
  });

  it('keeps the built-in prices of its time, whatever release works on it', async () => {
    const own = { input: 1, output: 2 };
    const builtin = { input: 3, output: 4 };
    const prices = new Map([
      ['lab/m', own],
      ['spare/m', builtin],
    ]);
    const engine = new FakeEngine({ benchmark: { ...twoLanes, prices } });
    const { spec } = aGroupHeader();

    const header = await engine.plan(two, {
      draft: { spec: { ...spec, prices: { 'lab/m': own } } },
    });

    expect(header.builtinPrices).toEqual({
      version: BUILTIN_PRICES_VERSION,
      prices: { 'spare/m': builtin },
    });
    const { benchmark } = loadGroup({ header, state: 'active', isPlanned: true });
    expect(benchmark.prices).toEqual(prices);
  });

  it('has a unique name even if another group was planned elsewhere in the same second', async () => {
    const here = new FakeEngine();
    const there = new FakeEngine({ random: () => 0.999_999 });

    const groups = [await here.plan(), await here.plan(), await there.plan()];

    expect(groups.map(({ group }) => group)).toEqual([
      'demo-20260102T030405Z-0000',
      'demo-20260102T030405Z-0001',
      'demo-20260102T030405Z-ffff',
    ]);
  });

  it('draws another name if the first is taken, and fails if every name is', async () => {
    const draws = [0.5, 0.5, 0.25];
    let drawCount = 0;
    const engine = new FakeEngine({
      random: () => {
        drawCount += 1;
        return draws.shift() ?? 0.5;
      },
    });

    const groups = [await engine.plan(), await engine.plan()];

    expect(groups.map(({ group }) => group)).toEqual([
      'demo-20260102T030405Z-8000',
      'demo-20260102T030405Z-4000',
    ]);
    await expect(engine.plan()).rejects.toMatchObject({ code: 'already-exists' });
    expect(drawCount).toBe(3 + 100);
  });

  it('stores its questions under their digest', async () => {
    const engine = new FakeEngine();

    const header = await engine.plan(two);

    const text = two.map((question) => `${JSON.stringify(question)}\n`).join('');
    expect(header.questions).toEqual({
      key: `questions/${sha256(text)}.jsonl`,
      sha256: sha256(text),
      count: 2,
    });
    expect(engine.blobs.texts.get(header.questions.key)).toBe(text);
  });

  it('stores questions that are too many to keep in memory', async () => {
    const engine = new FakeEngine();
    const long = aQuestion({ id: 'long', question: 'x'.repeat(32 * 1024 * 1024) });

    const header = await engine.plan([...two, long]);

    expect(sha256(engine.blobs.texts.get(header.questions.key) ?? '')).toBe(
      header.questions.sha256,
    );
  });

  it('has only the questions that its spec selects', async () => {
    const engine = new FakeEngine();

    const header = await engine.plan(two, { select: { start: 1 } });

    expect(header.questions.count).toBe(1);
    expect(engine.queue.sent.map(({ task }) => task.id)).toEqual(['q2']);
  });

  it('is active once every task is sent', async () => {
    const engine = new FakeEngine();

    const { group } = await engine.plan(two);

    expect((await engine.ledger.readGroup(group))?.state).toBe('active');
  });

  it('has one task per cell, run by run and question by question within a lane', async () => {
    const engine = new FakeEngine({ benchmark: twoLanes });

    const { group } = await engine.plan(two);

    expect(engine.queue.sent.map(({ lane, task }) => [lane, nameOf(task, group)])).toEqual([
      ['lab', 'r1 a q1'],
      ['lab', 'r1 a q2'],
      ['lab', 'r1 c q2'],
      ['spare', 'r1 b q1'],
      ['spare', 'r1 b q2'],
      ['lab', 'r2 a q1'],
      ['lab', 'r2 a q2'],
      ['lab', 'r2 c q2'],
      ['spare', 'r2 b q1'],
      ['spare', 'r2 b q2'],
    ]);
    expect(engine.queue.sent.every(({ task }) => task.v === 1 && task.generation === 0)).toBe(true);
  });

  it('counts the cells of each config, and none for a skipped config', async () => {
    const engine = new FakeEngine({ benchmark: twoLanes });

    const header = await engine.plan(two, { skipped: new Map([['b', 'skipped_missing_keys']]) });

    expect(header.configs).toEqual([
      aPlannedConfig({ config: 'a', cells: 2 }),
      aPlannedConfig({ config: 'b', cells: 0, skipped: 'skipped_missing_keys' }),
      aPlannedConfig({ config: 'c', cells: 1 }),
    ]);
    expect(engine.queue.sent.map(({ lane }) => lane)).not.toContain('spare');
  });

  it('sends its tasks in pages, each cell once', async () => {
    const engine = new FakeEngine();
    const count = 2 * limits.pageSize + 1;
    const many = Array.from({ length: count }, (_, at) => aQuestion({ id: `q${at}` }));

    await engine.plan(many);

    const ids = engine.queue.sent.map(({ task }) => task.id);
    expect(ids).toEqual(many.map(({ id }) => id));
  });

  it('has its plan in its folder from the start', async () => {
    const engine = new FakeEngine();

    const header = await engine.plan(two);

    const text = engine.blobs.texts.get(groupKey(header.group, 'group.json'));
    expect(JSON.parse(text ?? '')).toEqual(header);
  });

  it('reuses a stored file of the same questions', async () => {
    const engine = new FakeEngine();
    const { questions } = await engine.plan(two);
    const before = engine.blobs.written.length;

    const { group } = await engine.plan(two);

    expect(engine.blobs.written.slice(before)).toEqual([groupKey(group, 'group.json')]);
    expect(engine.blobs.texts.has(questions.key)).toBe(true);
  });

  it('has byte ranges that match its questions, whatever their texts', async () => {
    const texts = fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.trim() !== '');

    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 8 }), async (all) => {
        const engine = new FakeEngine();
        const questions = all.map((question, at) => aQuestion({ id: `q${at}`, question }));

        await engine.plan(questions);

        const stored = await Promise.all(
          engine.queue.sent.map(({ task }) => readQuestion(engine.blobs, task.question)),
        );
        expect(stored).toEqual(questions);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an interrupted plan', () => {
  it('is completed by sending its tasks again, without paying for a cell twice', async () => {
    const engine = new FakeEngine({ benchmark: twoLanes });
    const header = await engine.plan(two);
    const first = engine.queue.sent.map(({ task }) => task);

    await enqueueGroup(header, engine.benchmark, engine);
    const again = engine.queue.sent.slice(first.length).map(({ task }) => task);
    await engine.workAll();

    expect(again).toEqual(first);
    expect(engine.models.requests.length).toBe(10);
    expect(engine.queue.leftCount).toBe(0);
  });

  it('stays unplanned until its last task is sent', async () => {
    const engine = new FakeEngine();
    engine.queue.failNextSend(anError('store-unusable'));

    await expect(engine.plan(two)).rejects.toMatchObject({ code: 'store-unusable' });

    const [group] = await engine.ledger.listGroups();
    expect(group?.isPlanned).toBe(false);
  });

  it('can be completed from its header alone', async () => {
    const engine = new FakeEngine({ benchmark: twoLanes });
    engine.queue.failNextSend(anError('store-unusable'));
    await engine.plan(two).catch(() => undefined);

    for (const { header } of await engine.ledger.listGroups()) {
      await enqueueGroup(header, engine.benchmark, engine);
    }

    expect(engine.queue.sent.length).toBe(10);
    expect(await engine.ledger.listGroups()).toMatchObject([{ isPlanned: true }]);
  });

  it('stops while it enters the calls that it reuses, before it sends a task', async () => {
    const engine = new FakeEngine();
    const earlier = await engine.plan(two);
    await engine.workAll();
    engine.queue.failNextSend(anError('store-unusable'));
    const draft = { reuse: [earlier.group] };
    await engine.plan(two, { draft }).catch(() => undefined);
    const [later] = await engine.ledger.listGroups();
    if (later === undefined) throw new Error('expected a group');
    const sentCount = engine.queue.sent.length;

    const stopped = enqueueGroup(later.header, engine.benchmark, engine, AbortSignal.abort());

    await expect(stopped).rejects.toMatchObject({ code: 'interrupted' });
    expect(engine.queue.sent.length).toBe(sentCount);
  });
});

function nameOf({ run, config, id }: CellTask, group: string): string {
  return `${run.slice(group.length + 1)} ${config} ${id}`;
}
