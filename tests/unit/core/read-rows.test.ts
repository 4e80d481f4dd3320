import { limits, readRows, readRowsTogether } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Call } from '../../../packages/core/src/domain/call.ts';
import {
  aBenchmark,
  aCall,
  aCellResult,
  aConfig,
  aFailedResult,
  aJournalEntry,
  anAttempt,
  aQuestion,
} from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

describe('the published rows', () => {
  it('cover every planned cell, in question order, answered or not', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), async (done) => {
        const engine = new FakeEngine();
        const questions = done.map((_, at) => aQuestion({ id: `q${at}` }));
        const header = await engine.plan(questions);
        const run = header.runs[0] ?? '';
        for (const [at, isDone] of [...done.entries()].reverse()) {
          if (isDone) putDone(engine, { run, config: 'direct', id: `q${at}` });
        }

        const rows = await collect(readRows(header, run, aConfig(), engine));

        expect(rows.map(({ id, outcome }) => [id, outcome])).toEqual(
          done.map((isDone, at) => [`q${at}`, isDone ? 'scored' : 'not-attempted']),
        );
      }),
    );
  });

  it('are the same where those of several configs and runs are read together, page by page', async () => {
    const questionCount = limits.pageSize + 3;
    const select = { start: 0, limit: limits.pageSize + 1 };
    const configs = [aConfig(), aConfig({ name: 'few', select })];
    const engine = new FakeEngine({ benchmark: aBenchmark({ replicates: 2, configs }) });
    const questions = Array.from({ length: questionCount }, (_, at) => aQuestion({ id: `q${at}` }));
    const header = await engine.plan(questions);
    const cells = header.runs.flatMap((run) => configs.map((config) => ({ run, config })));
    for (const { run, config } of cells) {
      for (const at of [0, 7, limits.pageSize, questionCount - 1]) {
        putDone(engine, { run, config: config.name, id: `q${at}` });
      }
    }

    const together = await collect(readRowsTogether(header, cells, engine));

    const rowsOf = (run: string, name: string) =>
      together.flatMap(({ row }) => (row.run === run && row.config === name ? [row] : []));
    expect(header.runs).toHaveLength(2);
    for (const { run, config } of cells) {
      expect(rowsOf(run, config.name)).toEqual(
        await collect(readRows(header, run, config, engine)),
      );
    }
    expect(rowsOf(header.runs[0] ?? '', 'few')).toHaveLength(limits.pageSize + 1);
  });

  it('show the result of a finished cell', async () => {
    const engine = new FakeEngine();
    const question = aQuestion({ tags: { level: '1' } });
    const header = await engine.plan([question]);
    const run = header.runs[0] ?? '';
    const result = aCellResult({ attempts: 2, costUsd: 0.5, calls: [aCall({ costUsd: 0.5 })] });
    const key = { run, config: 'direct', id: 'q1' };
    const attemptLog = [anAttempt()];
    const discarded = aJournalEntry({ call: { costUsd: 0.25, discarded: 'content-filtered' } });
    await engine.ledger.commitCall(key, discarded);
    engine.ledger.putCell({ key, state: 'done', generation: 0, attempts: 2, attemptLog, result });

    const [row] = await collect(readRows(header, run, aConfig(), engine));

    const { grading: _grading, ...published } = result;
    expect(row).toEqual({
      schemaVersion: 1,
      ...key,
      ...published,
      target: ['42'],
      confidence: null,
      metrics: {},
      grading: { number: 1, scorer: 'exact', version: null, judges: null },
      tags: { level: '1' },
      calls: [...result.calls, discarded.call],
      overheadUsd: 0,
      wasteUsd: 0.25,
    });
    // Files are compared byte by byte, so the key order is part of the format.
    expect(Object.keys(row ?? {})).toEqual([
      'schemaVersion',
      'run',
      'id',
      'config',
      'outcome',
      'score',
      'answer',
      'output',
      'refusal',
      'finishReason',
      'hasReasoning',
      'target',
      'confidence',
      'metrics',
      'grading',
      'reason',
      'error',
      'attempts',
      'costUsd',
      'latencyMs',
      'startedAt',
      'finishedAt',
      'tags',
      'calls',
      'overheadUsd',
      'wasteUsd',
    ]);
  });

  it('show the last error of an unfinished cell', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    const run = header.runs[0] ?? '';
    const last = { class: 'exhausted', code: 'quota-exhausted', message: 'no credits' } as const;
    engine.ledger.putCell({
      key: { run, config: 'direct', id: 'q1' },
      state: 'released',
      generation: 0,
      attempts: 1,
      attemptLog: [anAttempt(), anAttempt({ error: last })],
    });

    const [row] = await collect(readRows(header, run, aConfig(), engine));

    expect(row).toMatchObject({
      outcome: 'not-attempted',
      score: null,
      reason: 'quota-exhausted',
      error: last,
      attempts: 1,
      costUsd: null,
      startedAt: null,
      calls: [],
      wasteUsd: 0,
    });
  });

  it('show the paid steps of an unfinished cell', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'q1' };
    const steps = [
      aJournalEntry({ step: 'check', position: 1, call: { costUsd: 0.5 } }),
      aJournalEntry({ step: 'draft', position: 0, call: { costUsd: 1 } }),
    ];
    for (const entry of steps) await engine.ledger.commitCall(key, entry);
    const state = { state: 'released', generation: 0, attempts: 0, attemptLog: [] } as const;
    engine.ledger.putCell({ key, ...state });

    const [row] = await collect(readRows(header, key.run, aConfig(), engine));

    expect(row).toMatchObject({ outcome: 'not-attempted', costUsd: 1.5, wasteUsd: 0 });
    expect(row?.calls.map(({ step }) => step)).toEqual(['draft', 'check']);
  });

  it('show a call of a failed cell that was recorded after the cell had failed', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'q1' };
    const draft = aJournalEntry({ step: 'draft', position: 0, call: { costUsd: 1 } });
    const late = aJournalEntry({ step: 'check', position: 1, call: { costUsd: 0.5 } });
    const replayed = { ...draft.call, replayed: true };
    const result = aFailedResult({ calls: [replayed], costUsd: 1 });
    const state = { state: 'done', generation: 0, attempts: 1, attemptLog: [] } as const;
    engine.ledger.putCell({ key, ...state, result });
    for (const entry of [draft, late]) await engine.ledger.commitCall(key, entry);

    const [row] = await collect(readRows(header, key.run, aConfig(), engine));

    expect(row).toMatchObject({ outcome: 'failed', costUsd: 1.5 });
    expect(row?.calls).toEqual([replayed, late.call]);
  });

  it('list discarded calls after the answers, in the order in which they were sent', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'q1' };
    const answer = aCall({ costUsd: 1, startedAt: '2026-01-02T03:04:09.000Z' });
    putDone(engine, key, [answer]);
    const seconds = [7, 6, 8];
    for (const second of seconds) {
      const startedAt = `2026-01-02T03:04:0${second}.000Z`;
      const call = { startedAt, costUsd: second, discarded: 'truncated-response' } as const;
      await engine.ledger.commitCall(key, aJournalEntry({ callId: startedAt, call }));
    }

    const [row] = await collect(readRows(header, key.run, aConfig(), engine));

    expect(row?.calls.map(({ costUsd }) => costUsd)).toEqual([1, 6, 7, 8]);
    expect(row?.wasteUsd).toBe(21);
  });

  it('have unknown waste if the cost of one discarded call is unknown', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan();
    const key = { run: header.runs[0] ?? '', config: 'direct', id: 'q1' };
    for (const costUsd of [1, null]) {
      const call = { costUsd, discarded: 'truncated-response' } as const;
      await engine.ledger.commitCall(key, aJournalEntry({ callId: String(costUsd), call }));
    }

    const [row] = await collect(readRows(header, key.run, aConfig(), engine));

    expect(row).toMatchObject({ outcome: 'not-attempted', costUsd: null, wasteUsd: null });
  });

  it('cover only the questions that a config selects', async () => {
    const config = aConfig({ select: { start: 1 } });
    const engine = new FakeEngine({ benchmark: aBenchmark({ configs: [config] }) });
    const header = await engine.plan([aQuestion({ id: 'q1' }), aQuestion({ id: 'q2' })]);

    const rows = await collect(readRows(header, header.runs[0] ?? '', config, engine));

    expect(rows.map(({ id }) => id)).toEqual(['q2']);
  });

  it('are read in pages without gaps or repetitions', async () => {
    const engine = new FakeEngine();
    const questions = Array.from({ length: 2 * limits.pageSize }, (_, at) =>
      aQuestion({ id: `q${at}` }),
    );
    const header = await engine.plan(questions);

    const rows = await collect(readRows(header, header.runs[0] ?? '', aConfig(), engine));

    expect(rows.map(({ id }) => id)).toEqual(questions.map(({ id }) => id));
  });
});

function putDone(
  engine: FakeEngine,
  key: { readonly run: string; readonly config: string; readonly id: string },
  calls: readonly Call[] = [aCall()],
): void {
  const result = aCellResult({ calls: [...calls] });
  engine.ledger.putCell({ key, state: 'done', generation: 0, attempts: 1, attemptLog: [], result });
}
