import { join } from 'node:path';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { additions, toJsonl } from '../support/additions.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { callThrice, startThrice } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const questions = additions(20);

/** The states of the batches in a ledger. */
function batchStates(folder: string): readonly unknown[] {
  using database = openDatabase(join(folder, 'thrice.db'));
  const rows = database.prepare("SELECT batch ->> '$.state' AS state FROM batches").all();
  return rows.map(({ state }) => state);
}

describe('a lane with batches', () => {
  it('is read by the command that resumes a run which was killed while it waited, for half of the price', async () => {
    await using models = await startSimulator({
      behaviour: { seed: 1, models: { m: { accuracy: 1 } } },
      faults: { seed: 1, faults: [], batches: { seconds: 1 } },
      questions,
    });
    const lanes = { lab: { base_url: models.url, batch: true } };
    const prices = { 'lab/m': { input: 1000, output: 2000, batch: 0.5 } };
    const configs = [{ name: 'cheap', model: 'lab/m' }];
    await using folder = await temporaryFolder({
      'sums.json': JSON.stringify({ questions: 'questions.jsonl', lanes, prices, configs }),
      'questions.jsonl': toJsonl(questions),
    });
    const ledger = folder.resolve('.thrice');

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await waitWhileRunning('the batch is accepted', [run], () => {
      return run.stdout !== '' && batchStates(ledger)[0] === 'accepted';
    });
    run.child.kill('SIGKILL');
    await endOf(run);
    const group = run.stdout.split('\n')[0] ?? '';
    const resumed = await callThrice(['resume', group], { cwd: folder.path });
    const verified = await callThrice(['verify', group], { cwd: folder.path });

    expect([resumed.exitCode, verified.exitCode]).toEqual([0, 0]);
    const { inputTokens, outputTokens, calls } = models.stats().billed;
    const rows = await readCellRows(ledger, group, 'cheap');
    expect(calls).toBe(questions.length);
    expect(rows.map(({ outcome, attempts }) => [outcome, attempts])).toEqual(
      questions.map(() => ['scored', 1]),
    );
    const livePriceUsd = (inputTokens * 1000 + outputTokens * 2000) / 1e6;
    const costUsd = rows.reduce((sum, row) => sum + (row.costUsd ?? 0), 0);
    expect(costUsd).toBeCloseTo(livePriceUsd / 2, 10);
    expect(resumed.stdout).toContain(`$${(livePriceUsd / 2).toFixed(4)}`);
    expect(batchStates(ledger)).toEqual([]);
  });
});
