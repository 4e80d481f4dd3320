import { readPilot } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCall, aCellResult, aJournalEntry, aQuestion } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

describe('a pilot', () => {
  it('tells what each cell with a call took, discarded calls included, and what is not known', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan(['q1', 'q2', 'q3'].map((id) => aQuestion({ id })));
    const [run = ''] = header.runs;
    const put = (id: string, calls: readonly ReturnType<typeof aCall>[]) =>
      engine.ledger.putCell({
        key: { run, config: 'direct', id },
        state: 'done',
        generation: 0,
        attempts: 1,
        attemptLog: [],
        result: aCellResult({ calls: [...calls] }),
      });
    const tokens = { inputTokens: 10, outputTokens: 5, latencyMs: 2_000 };
    put('q1', [aCall({ ...tokens, costUsd: 0.5 })]);
    put('q2', [aCall({ ...tokens, costUsd: null })]);
    put('q3', []);
    const discarded = { ...tokens, costUsd: 0.25, discarded: 'content-filtered' } as const;
    await engine.ledger.commitCall(
      { run, config: 'direct', id: 'q1' },
      aJournalEntry({ call: discarded }),
    );
    const sizes = { prompts: 3, bytes: 60, messages: 3, images: 0, longestBytes: 20 };

    const pilots = await readPilot(header, new Map([['direct', sizes]]), engine);

    expect([...pilots]).toEqual([
      [
        'direct',
        {
          cells: [
            { calls: 2, inputTokens: 20, outputTokens: 10, costUsd: 0.75, seconds: 4 },
            { calls: 1, inputTokens: 10, outputTokens: 5, costUsd: null, seconds: 2 },
          ],
          prompts: sizes,
        },
      ],
    ]);
  });

  it('took nothing in a cell that shared the calls of another', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan([aQuestion()]);
    const [run = ''] = header.runs;
    const key = { run, config: 'direct', id: 'q1' };
    const takenFrom = { ...key, config: 'other', step: 'answer' };
    const call = aCall({
      takenFrom,
      replayed: true,
      costUsd: 0,
      inputTokens: 10,
      latencyMs: 2_000,
    });
    const cell = { key, state: 'done', generation: 0, attempts: 1, attemptLog: [] } as const;
    engine.ledger.putCell({ ...cell, result: aCellResult({ calls: [call] }) });
    const sizes = { prompts: 1, bytes: 20, messages: 1, images: 0, longestBytes: 20 };

    const pilots = await readPilot(header, new Map([['direct', sizes]]), engine);

    expect(pilots.get('direct')?.cells).toEqual([
      { calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, seconds: 0 },
    ]);
  });

  it('has no config that made no call', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan([aQuestion()]);

    expect((await readPilot(header, new Map(), engine)).size).toBe(0);
  });
});
