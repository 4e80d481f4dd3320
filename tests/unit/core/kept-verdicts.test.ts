import {
  benchmarkSpecSchema,
  type CellRow,
  finalizeGroup,
  loadGroup,
  type ModelRequest,
  rerunCells,
  resolveBenchmark,
  verifyGroup,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readRows } from '../../../packages/core/src/results/read-rows.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { aVerdict, isToJudge, judgeScorer, says } from '../../support/judged-benchmark.ts';

const base_url = 'http://127.0.0.1:1/v1';

/** A spec whose lanes take answers of other models or not; an input token of the judge costs a dollar. */
function aSpec(servedModel: 'pin' | 'allow') {
  const lane = { base_url, served_model: servedModel };
  return benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: { lab: { base_url, served_model: 'allow' }, court: lane },
    scorers: { quality: judgeScorer },
    prices: {
      'lab/m': { input: 1, output: 1 },
      'court/judge': { input: 1_000_000, output: 0 },
    },
    configs: [{ name: 'a', model: 'lab/m', scorer: 'quality' }],
  });
}

/** Another model than the one that was asked judges every answer. */
function answer(request: ModelRequest) {
  const reply = isToJudge(request) ? aVerdict(true) : '42';
  return { ...says(reply), servedModel: isToJudge(request) ? 'judge-2' : request.model };
}

async function readOnly(engine: FakeEngine, header: Parameters<typeof readRows>[0]) {
  const { benchmark } = loadGroup({ header, state: 'active', isPlanned: true });
  const rows: CellRow[] = [];
  for (const run of header.runs)
    for (const config of benchmark.configs)
      for await (const row of readRows(header, run, config, engine)) rows.push(row);
  const [row] = rows;
  if (row === undefined) throw new Error('expected a row');
  return row;
}

describe('a verdict of another model than was asked', () => {
  it('is waste as long as its lane pins the model, and overhead once its cell has kept it', async () => {
    const pinned = aSpec('pin');
    const engine = new FakeEngine({ benchmark: resolveBenchmark(pinned, 'b.toml'), answer });
    const planned = await engine.plan(undefined, { draft: { spec: pinned } });
    await engine.workAll();
    const before = await readOnly(engine, planned);

    const header = { ...planned, spec: aSpec('allow') };
    const group = loadGroup({ header, state: 'active', isPlanned: true });
    const working = new FakeEngine({ benchmark: group.benchmark, stores: engine, answer });
    await rerunCells(header, header.runs, group.benchmark.configs, working);
    await working.workAll();
    const after = await readOnly(engine, header);

    expect(working.models.requests).toEqual([]);
    expect([before.outcome, after.outcome]).toEqual(['ungraded', 'scored']);
    expect(before.wasteUsd).toBeGreaterThan(0);
    expect([before.overheadUsd, after.overheadUsd]).toEqual([0, before.wasteUsd]);
    expect(after.wasteUsd).toBe(0);
    expect(after.calls.map(({ step, discarded }) => [step, discarded])).toEqual([
      ['answer', null],
      ['judge-1', null],
    ]);
    await finalizeGroup(group, engine);
    expect((await verifyGroup(header, group.benchmark, engine)).mismatches).toEqual([]);
  });
});
