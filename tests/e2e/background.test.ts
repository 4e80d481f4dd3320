import { join } from 'node:path';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { additions, toJsonl } from '../support/additions.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { callThrice, groupOf, startThrice } from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const questions = additions(40);

/** Starts a model that takes longer than the first poll waits. */
async function startModel(): Promise<Simulator> {
  const models = { m: { accuracy: 1, latencyMs: { fixed: 8_000 } } };
  return await startSimulator({ behaviour: { seed: 1, models }, questions });
}

function benchmarkFolder({ url }: Simulator): Promise<TemporaryFolder> {
  const spec = {
    questions: 'questions.jsonl',
    // Far fewer than responses: one that is prepared holds no slot.
    parallel: 4,
    lanes: { lab: { base_url: url, protocol: 'responses' } },
    configs: [{ name: 'slow', model: 'lab/m', background: true }],
  };
  return temporaryFolder({
    'sums.json': JSON.stringify(spec),
    'questions.jsonl': toJsonl(questions),
  });
}

/** How many responses the ledger waits for. */
function acceptedCount(folder: string): number {
  using database = openDatabase(join(folder, 'thrice.db'));
  const query =
    "SELECT count(*) AS count FROM submissions WHERE submission ->> 'state' = 'accepted'";
  return Number(database.prepare(query).get()?.['count']);
}

describe('an answer in the background', () => {
  it('is not asked for again by a run that was killed while it waited', async () => {
    await using model = await startModel();
    await using folder = await benchmarkFolder(model);
    const ledger = folder.resolve('.thrice');

    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await waitWhileRunning('all responses are prepared', [run], () =>
      model.stats().requestCount < questions.length
        ? false
        : acceptedCount(ledger) === questions.length,
    );
    run.child.kill('SIGKILL');
    await endOf(run);
    const group = groupOf(run);
    const atKill = model.stats();
    const resumed = await callThrice(['resume', group], { cwd: folder.path });
    const verified = await callThrice(['verify', group], { cwd: folder.path });

    expect(atKill).toMatchObject({ requestCount: questions.length });
    expect([resumed.exitCode, verified.exitCode]).toEqual([0, 0]);
    expect(model.stats()).toMatchObject({
      requestCount: questions.length,
      billed: { calls: questions.length },
    });
    const rows = await readCellRows(ledger, group, 'slow');
    expect(rows.map(({ outcome, score }) => [outcome, score])).toEqual(
      questions.map(() => ['scored', 1]),
    );
    // The time of the vendor's work, not of the request that found it ended.
    expect(rows.every(({ latencyMs }) => (latencyMs ?? 0) >= 8_000)).toBe(true);
  });
});
