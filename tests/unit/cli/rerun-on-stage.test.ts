import { limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { dropDone } from '../../../packages/cli/src/stage/rerun-on-stage.ts';
import { aCellResult, aCellTask, aFailedResult } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';

/** A ledger in which these cells are done, in a generation. */
function ledgerOf(
  cells: readonly { readonly id: string; readonly generation: number; readonly failed?: boolean }[],
): FakeLedger {
  const ledger = new FakeLedger(new FakeClock());
  for (const { id, generation, failed = false } of cells) {
    const key = { run: 'demo-r1', config: 'direct', id };
    const result = failed ? aFailedResult() : aCellResult();
    ledger.putCell({ key, state: 'done', generation, attempts: 1, attemptLog: [], result });
  }
  return ledger;
}

describe('the tasks of a rerun that are outstanding', () => {
  it('are those whose cell has no result in their generation yet', async () => {
    const outstanding = ['scored', 'failed-again', 'failed-before', 'running'].map((id) =>
      aCellTask({ id, generation: 1 }),
    );
    const ledger = ledgerOf([
      { id: 'scored', generation: 1 },
      { id: 'failed-again', generation: 1, failed: true },
      { id: 'failed-before', generation: 0, failed: true },
    ]);

    await dropDone(outstanding, ledger);

    expect(outstanding.map(({ id }) => id)).toEqual(['failed-before', 'running']);
  });

  it('are dropped page by page, in every run and config, until all are done', async () => {
    const ids = Array.from({ length: limits.pageSize + 1 }, (_, index) => `q${index}`);
    const outstanding = [
      ...ids.map((id) => aCellTask({ id })),
      aCellTask({ config: 'other' }),
      aCellTask({ run: 'demo-r2' }),
    ];
    const ledger = ledgerOf(ids.map((id) => ({ id, generation: 0 })));

    await dropDone(outstanding, ledger);

    expect(outstanding.map(({ run, config }) => `${run} ${config}`)).toEqual([
      'demo-r1 other',
      'demo-r2 direct',
    ]);
  });
});
