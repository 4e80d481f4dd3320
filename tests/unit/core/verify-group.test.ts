import {
  type CellRow,
  finalizeGroup,
  type GroupHeader,
  groupKey,
  runKey,
  type Summary,
  verifyGroup,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aBenchmark,
  aCall,
  aModelResponse,
  anError,
  anOutput,
  aQuestion,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

const questions = ['right', 'wrong', 'broken', 'empty'].map((id) =>
  aQuestion({ id, tags: { kind: id === 'right' ? 'a' : 'b' } }),
);

describe('the check of a group', () => {
  it('finds nothing where nothing was changed', async () => {
    const { engine, header } = await published();

    const { figures, ...found } = await verifyGroup(header, engine.benchmark, engine);

    expect(found).toEqual({ rows: 8, rescored: 6, mismatches: [] });
    expect(figures).toBeGreaterThan(100);
  });

  it('finds nothing in a group that nobody worked on', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan(questions);
    await finalizeGroup(header, engine.benchmark, 2, engine);

    const found = await verifyGroup(header, engine.benchmark, engine);

    expect(found).toMatchObject({ rows: 4, rescored: 0, mismatches: [] });
  });

  it('passes a replayed answer', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    engine.ledger.failNext('completeCell', anError('store-unusable'));
    await engine.workAll().catch(() => undefined);
    engine.clock.advance(60_000);
    await engine.workAll();
    await finalizeGroup(header, engine.benchmark, 0, engine);

    const found = await verifyGroup(header, engine.benchmark, engine);

    expect(found).toMatchObject({ rows: 1, rescored: 1, mismatches: [] });
  });

  it.each<[string, (row: CellRow) => object, string]>([
    [
      'a score',
      (row) => ({ ...row, score: row.id === 'wrong' ? 1 : row.score }),
      'wrong: published scored 1, the recorded answer gives scored 0',
    ],
    [
      'an outcome',
      (row) => (row.id === 'wrong' ? { ...row, outcome: 'failed', score: null } : row),
      'wrong: published failed null, the recorded answer gives scored 0',
    ],
    [
      'an answer',
      (row) => (row.id === 'wrong' ? { ...row, answer: '42' } : row),
      'wrong: published scored 0, the recorded answer gives scored 0',
    ],
    [
      'a target',
      (row) => (row.id === 'wrong' ? { ...row, target: ['41'] } : row),
      "wrong: the target is not its question's",
    ],
    [
      'a verdict that no call stands for',
      (row) => (row.id === 'broken' ? { ...row, outcome: 'scored', score: 1 } : row),
      'broken: a verdict without a call',
    ],
    [
      'a call that nobody made',
      (row) => (row.id === 'broken' ? { ...row, calls: [aCall()] } : row),
      'broken: its call is not in the journal',
    ],
    [
      'the id of a row',
      (row) => (row.id === 'wrong' ? { ...row, id: 'other' } : row),
      'expected the row of wrong, received direct/other',
    ],
    [
      'the config of a row',
      (row) => (row.id === 'wrong' ? { ...row, config: 'other' } : row),
      'expected the row of wrong, received other/wrong',
    ],
  ])('reports %s that was changed in a row', async (_, change, mismatch) => {
    const { engine, header, cells } = await published();
    editRows(engine, cells, (rows) => rows.map(change));

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches[0]).toBe(`${cells}: ${mismatch}`);
  });

  it.each<[string, (rows: readonly CellRow[]) => readonly object[], string]>([
    ['a missing row', (rows) => rows.slice(0, -1), 'the row of empty is missing'],
    ['a missing file', () => [], 'the row of right is missing'],
    ['a row too many', (rows) => [...rows, ...rows.slice(-1)], 'more rows than questions'],
    [
      'rows in another order',
      (rows) => rows.toReversed(),
      'expected the row of right, received direct/empty',
    ],
  ])('reports %s', async (_, change, mismatch) => {
    const { engine, header, cells } = await published();
    editRows(engine, cells, change);

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches).toContain(`${cells}: ${mismatch}`);
  });

  it.each<[string, (row: CellRow) => object, string]>([
    [
      'the cost of a call',
      (row) => ({ ...row, calls: row.calls.map((call) => ({ ...call, costUsd: 5 })) }),
      'configs.0.replicates.0.costUsd: published null, recomputed 15',
    ],
    [
      'a latency',
      (row) => ({ ...row, latencyMs: row.latencyMs === null ? null : 40 }),
      'configs.0.replicates.0.latency.meanS: published 0.02, recomputed 0.04',
    ],
    [
      'a run',
      (row) => ({ ...row, run: 'demo-r9' }),
      'configs.0.replicates.0.run: published "demo-20260102T030405Z-r1", recomputed "demo-r9"',
    ],
    [
      'a tag',
      (row) => ({ ...row, tags: {} }),
      'configs.0.byTag.kind.a.questions: published, but nothing computes it',
    ],
  ])('reports the figures that %s in a row changes', async (_, change, mismatch) => {
    const { engine, header, cells } = await published();
    editRows(engine, cells, (rows) => rows.map(change));

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    const summary = runKey(header.group, header.runs[0] ?? '', 'summary.json');
    expect(mismatches).toContain(`${summary}: ${mismatch}`);
  });

  it('reports every figure of a summary that is not what its rows say', async () => {
    const { engine, header } = await published();
    const key = groupKey(header.group, 'summary.json');
    editSummary(engine, key, (summary) => {
      const [config] = summary.configs;
      const [replicate] = config?.replicates ?? [];
      if (config === undefined || replicate === undefined) return;
      replicate.score = 0.99;
      config.mean['correct'] = 3;
      config.byTag['kind'] = {};
    });

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches).toEqual(
      expect.arrayContaining([
        `${key}: configs.0.replicates.0.score: published 0.99, recomputed 0.3333333333333333`,
        `${key}: configs.0.mean.correct: published 3, recomputed 1`,
        `${key}: configs.0.byTag.kind.a.score: published nothing, recomputed 1`,
      ]),
    );
  });

  it.each<[string, (engine: FakeEngine, key: string) => void, string]>([
    ['is missing', (engine, key) => engine.blobs.texts.delete(key), 'missing'],
    [
      'is no JSON',
      (engine, key) => engine.blobs.texts.set(key, '{'),
      'schemaVersion: published nothing, recomputed 1',
    ],
  ])('reports a summary that %s', async (_, change, mismatch) => {
    const { engine, header } = await published();
    const key = runKey(header.group, header.runs[1] ?? '', 'summary.json');
    change(engine, key);

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches).toContain(`${key}: ${mismatch}`);
  });

  it('reports a journal that says something else', async () => {
    const { engine, header, cells } = await published();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'wrong' };
    const entry = (await engine.ledger.readJournal(key)).get('answer');
    engine.ledger.forgetJournal(key);
    if (entry !== undefined) {
      await engine.ledger.commitCall(key, { ...entry, output: anOutput({ text: '42' }) });
    }

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches).toEqual([
      `${cells}: wrong: published scored 0, the recorded answer gives scored 1`,
    ]);
  });

  it('stops at a row that cannot be read, and names it', async () => {
    const { engine, header, cells } = await published();
    engine.blobs.texts.set(cells, `${engine.blobs.texts.get(cells)?.slice(0, -10)}`);

    await expect(verifyGroup(header, engine.benchmark, engine)).rejects.toMatchObject({
      code: 'invalid-file',
      message: `${cells}:4: expected a row of a cells file, received something else`,
    });
  });

  it('shows no more than 50 mismatches', async () => {
    const engine = new FakeEngine();
    const many = Array.from({ length: 60 }, (_, at) => aQuestion({ id: `q${at}` }));
    const header = await engine.plan(many);
    await engine.workAll();
    await finalizeGroup(header, engine.benchmark, 0, engine);
    const cells = runKey(header.group, header.runs[0] ?? '', 'cells/direct.jsonl');
    editRows(engine, cells, (rows) => rows.map((row) => ({ ...row, score: 0 })));

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches.length).toBe(50);
  });
});

/** Two published runs with a right, a wrong, a failed and an empty answer each. */
async function published() {
  const engine = new FakeEngine({
    benchmark: aBenchmark({ replicates: 2 }),
    answer: ({ cell }) => {
      if (cell.id === 'broken') return anError('invalid-request');
      const text = { right: '42', wrong: '41' }[cell.id] ?? '';
      return aModelResponse({ output: anOutput({ text }) });
    },
  });
  const header: GroupHeader = await engine.plan(questions);
  await engine.workAll();
  await finalizeGroup(header, engine.benchmark, 1, engine);
  const cells = runKey(header.group, header.runs[0] ?? '', 'cells/direct.jsonl');
  return { engine, header, cells };
}

function editRows(
  engine: FakeEngine,
  key: string,
  change: (rows: readonly CellRow[]) => readonly object[],
): void {
  const lines = (engine.blobs.texts.get(key) ?? '').trimEnd().split('\n');
  const rows = change(lines.map((line) => JSON.parse(line) as CellRow));
  engine.blobs.texts.set(key, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

function editSummary(engine: FakeEngine, key: string, edit: (summary: Summary) => void): void {
  const summary = JSON.parse(engine.blobs.texts.get(key) ?? '') as Summary;
  edit(summary);
  engine.blobs.texts.set(key, JSON.stringify(summary));
}
