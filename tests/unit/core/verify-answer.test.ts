import { finalizeGroup, verifyGroup } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';

describe('verifyGroup', () => {
  it('reports an answer in the ledger that is not the one the recorded call gives', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    await engine.workAll();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'q1' };
    const cell = engine.ledger.cell(key);
    if (cell?.result === undefined) throw new Error('expected a result');
    engine.ledger.putCell({ ...cell, result: { ...cell.result, answer: '42.0' } });
    await finalizeGroup({ header, benchmark: engine.benchmark, state: 'active' }, engine, {
      earlyEnd: undefined,
    });

    const { mismatches } = await verifyGroup(header, engine.benchmark, engine);

    expect(mismatches).toHaveLength(1);
    expect(mismatches[0]).toContain('cells/direct.jsonl: q1: ');
  });
});
