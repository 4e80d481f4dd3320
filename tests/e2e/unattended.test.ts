import type { Fault } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { committedKeys, endWaits } from '../support/ledger-view.ts';
import { repair, requestsOf, startServer } from '../support/model-servers.ts';
import { callThrice, groupOf, type RunningThrice, startThrice } from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

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
    expect((await callThrice(['verify', group], { cwd: folder.path })).exitCode).toBe(0);
  });
});

describe('a lane of three whose quota dies in the middle of a run', () => {
  const perLane = 667;
  const slots = 8;
  const answeredCount = 300;
  const from = { requests: [answeredCount + 1] } satisfies Partial<Fault>;

  it.each<{ readonly form: string; readonly fault: Fault }>([
    { form: 'a 429 with a quota code', fault: { kind: 'quota', status: 429, ...from } },
    { form: 'a 402', fault: { kind: 'quota', status: 402, ...from } },
    { form: 'a text in a 200 body', fault: { kind: 'usage-limit', ...from } },
    { form: 'a 400', fault: { kind: 'quota', status: 400, ...from } },
  ])('is left alone after $form, and completed when the quota is back', async ({ fault }) => {
    const models = { '*': { accuracy: 1 } };
    const start = (faults: readonly Fault[] = []) =>
      startServer({ count: perLane, models, faults });
    await using resources = new AsyncDisposableStack();
    const dying = resources.use(await start([fault]));
    const sound = resources.use(await start());
    const steady = resources.use(await start());
    const lanes = { dying, sound, steady };
    const names = Object.keys(lanes);
    const spec = {
      questions: 'questions.jsonl',
      lanes: Object.fromEntries(
        Object.entries(lanes).map(([name, { url }]) => [
          name,
          { base_url: url, max_concurrency: slots },
        ]),
      ),
      configs: names.map((name) => ({ name, model: `${name}/m` })),
    };
    await using folder = await temporaryFolder({
      'sums.json': JSON.stringify(spec),
      'questions.jsonl': toJsonl(additions(perLane)),
    });
    const cwd = folder.path;
    const rowsOf = async (name: string) =>
      countOutcomes(await readCellRows(folder.resolve('.thrice'), group, name));

    const ran = await callThrice(['run', 'sums.json'], { cwd });
    const group = groupOf(ran);
    const paused = await Promise.all(names.map(rowsOf));
    const refusedCount = dying.stats().requestCount - answeredCount;
    await using repaired = await repair(dying, perLane);
    const resumed = await callThrice(['resume', group], { cwd });

    expect(ran.exitCode).toBe(2);
    expect(ran.stderr).toContain(`next: thrice resume ${group}\n`);
    expect(refusedCount).toBeLessThan(2 * slots);
    expect(paused).toEqual([
      { scored: answeredCount, 'not-attempted': perLane - answeredCount },
      { scored: perLane },
      { scored: perLane },
    ]);
    expect(resumed.exitCode).toBe(0);
    expect(await Promise.all(names.map(rowsOf))).toEqual(names.map(() => ({ scored: perLane })));
    expect([...requestsOf(repaired, 'dying').values()]).toEqual(
      Array.from({ length: perLane - answeredCount }, () => 1),
    );
    expect([sound, steady].map((each) => each.stats().requestCount)).toEqual([perLane, perLane]);
  });
});
