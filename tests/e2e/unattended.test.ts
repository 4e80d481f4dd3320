import type { Fault } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { committedKeys, endWaits } from '../support/ledger-view.ts';
import { repair, requestsOf, startServer } from '../support/model-servers.ts';
import { type RunningThrice, runThrice, startThrice } from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

function groupOf({ stdout }: { readonly stdout: string }): string {
  return stdout.split('\n')[0] ?? '';
}

/** A benchmark of one config on one lane. */
function benchmarkFolder(url: string, count: number): Promise<TemporaryFolder> {
  const spec = {
    questions: 'questions.jsonl',
    parallel: 8,
    lanes: { lab: { base_url: url } },
    configs: [{ name: 'a', model: 'lab/m' }],
  };
  return temporaryFolder({
    'sums.json': JSON.stringify(spec),
    'questions.jsonl': toJsonl(additions(count)),
  });
}

describe('thrice work --all', () => {
  it('completes a group through kills while it works and while it waits, and buys no committed answer twice', async () => {
    const count = 200;
    const answeredCount = 150;
    const exhausted: Fault = { kind: 'quota', requests: [answeredCount + 1], resetSeconds: 3_600 };
    await using lab = await startServer({ count, faults: [exhausted] });
    await using folder = await benchmarkFolder(lab.url, count);
    const store = folder.resolve('.thrice');
    const work = () => startThrice(['work', '--all'], { cwd: folder.path });
    const kill = async (working: RunningThrice) => {
      working.child.kill('SIGKILL');
      await endOf(working);
    };
    await using run = startThrice(['run', 'sums.json'], { cwd: folder.path });
    await waitWhileRunning('it has begun', [run], () => committedKeys(store).size > 5);
    await kill(run);
    const group = groupOf(run);

    await using first = work();
    const atStart = committedKeys(store).size;
    await waitWhileRunning('it works', [first], () => committedKeys(store).size > atStart + 20);
    await kill(first);
    await using second = work();
    await waitWhileRunning('it waits', [second], () => {
      return second.stderr.includes(`${group}: waiting for lane lab until`);
    });
    await kill(second);
    const atKill = lab.stats();
    await using third = work();
    await waitWhileRunning('it waits again', [third], () => {
      return third.stderr.includes(`${group}: waiting for lane lab until`);
    });
    const whileWaiting = lab.stats();
    const committed = committedKeys(store);
    await using repaired = await repair(lab, count);
    await endWaits(store);
    await waitWhileRunning('it is complete', [third], () => {
      return third.stderr.includes(`${group}: complete\n`);
    });
    third.child.kill('SIGTERM');
    const stopped = await endOf(third);

    expect(whileWaiting.requestCount).toBe(atKill.requestCount);
    expect(countOutcomes(await readCellRows(store, group, 'a'))).toEqual({ scored: count });
    const asked = [...requestsOf(repaired, 'a').values()];
    expect(asked).toEqual(Array.from({ length: count - committed.size }, () => 1));
    expect(stopped.exitCode).toBe(130);
    expect((await runThrice(['verify', group], { cwd: folder.path })).exitCode).toBe(0);
  });
});
