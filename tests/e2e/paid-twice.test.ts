import { describe, expect, it } from 'vitest';
import { kill } from '../support/killed-runs.ts';
import {
  type CountingVendor,
  endLeases,
  journaledCalls,
  startCountingVendor,
  toldCalls,
} from '../support/paid-calls.ts';
import {
  callThrice,
  groupOf,
  printedGroup,
  type RunningThrice,
  startThrice,
} from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const PARALLEL = 8;
const QUESTION_COUNT = 30;

/** Two benchmarks, whose model `slow` the vendor holds back, and one whose cells have two steps. */
function benchmarks({ url }: CountingVendor): Promise<TemporaryFolder> {
  const row = (index: number) => ({ id: `q${index}`, question: `What is ${index}?`, target: '42' });
  const specOf = (config: object) =>
    JSON.stringify({
      questions: 'questions.jsonl',
      parallel: PARALLEL,
      lanes: { lab: { base_url: url } },
      configs: [{ name: 'a', scorer: 'numeric', ...config }],
    });
  const asked = { model: 'lab/quick' };
  return temporaryFolder({
    'slow.json': specOf({ model: 'lab/slow' }),
    'other.json': specOf({ model: 'lab/slow' }),
    'steps.json': specOf({
      solver: 'cascade',
      members: [asked, asked],
      agreement: 'judge',
      judge: { model: 'lab/slow' },
      escalate: asked,
    }),
    'questions.jsonl': Array.from({ length: QUESTION_COUNT }, (_, index) => row(index + 1))
      .map((each) => `${JSON.stringify(each)}\n`)
      .join(''),
  });
}

/** Starts a run and waits until all calls that it may make at once are held back. */
async function startHeld(
  spec: string,
  folder: TemporaryFolder,
  vendor: CountingVendor,
): Promise<{ readonly run: RunningThrice; readonly group: string }> {
  const run = startThrice(['run', spec], { cwd: folder.path });
  await run.prints(printedGroup);
  const group = groupOf(run);
  await waitWhileRunning('its calls are in flight', [run], () => {
    return vendor.billedTo(group, 'slow') === PARALLEL;
  });
  return { run, group };
}

describe('the calls that may be paid twice', () => {
  it('are listed for a killed group after another was deleted', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const thrice = (...argv: string[]) => callThrice(argv, { cwd: folder.path });
    await using other = (await startHeld('other.json', folder, vendor)).run;
    await kill(other);
    const { run, group } = await startHeld('slow.json', folder, vendor);
    await kill(run);

    const deleted = await thrice('delete', groupOf(other), '--yes');
    vendor.release();
    const resumed = await thrice('resume', group);

    expect([deleted.exitCode, resumed.exitCode]).toEqual([0, 0]);
    expect(resumed.stderr).toContain(`${PARALLEL} calls of a process that died`);
    expect(toldCalls(ledger, group)).toHaveLength(PARALLEL);
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group) + PARALLEL);
  });

  it('are listed with their own group, whichever is resumed first', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const thrice = (...argv: string[]) => callThrice(argv, { cwd: folder.path });
    const other = await startHeld('other.json', folder, vendor);
    other.run.child.kill('SIGINT');
    await other.run.prints(/press Ctrl-C again/);
    const { run, group } = await startHeld('slow.json', folder, vendor);
    await kill(run);
    vendor.release();
    await endOf(other.run);

    await thrice('resume', other.group);
    await thrice('resume', group);

    expect(toldCalls(ledger, other.group)).toEqual([]);
    expect(toldCalls(ledger, group)).toHaveLength(PARALLEL);
    expect(toldCalls(ledger, group).map((call) => call['run'])).toEqual(
      Array.from({ length: PARALLEL }, () => `${group}-r1`),
    );
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group) + PARALLEL);
    expect(vendor.billedTo(other.group)).toBe(journaledCalls(ledger, other.group));
  });

  it('are listed when a suspended process has lost its cells, and no more once its answers are there', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const { run, group } = await startHeld('slow.json', folder, vendor);
    await using _suspended = run;
    const status = async (): Promise<unknown> =>
      JSON.parse((await callThrice(['status', group, '--json'], { cwd: folder.path })).stdout);

    run.child.kill('SIGSTOP');
    endLeases(ledger);
    vendor.release();
    const resumed = await callThrice(['resume', group], { cwd: folder.path });
    const toldCount = toldCalls(ledger, group).length;
    const shown = await status();
    run.child.kill('SIGCONT');
    await endOf(run);

    expect(resumed.exitCode).toBe(0);
    expect(toldCount).toBe(PARALLEL);
    expect(shown).toMatchObject({ possiblyPaidTwice: PARALLEL });
    expect(toldCalls(ledger, group)).toEqual([]);
    expect(await status()).toMatchObject({ possiblyPaidTwice: 0 });
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group));
  });

  it('are listed when a suspended process has lost its cells and is killed', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const { run, group } = await startHeld('slow.json', folder, vendor);

    run.child.kill('SIGSTOP');
    endLeases(ledger);
    vendor.release();
    await using helper = startThrice(['resume', group], { cwd: folder.path });
    const resumed = await endOf(helper);
    await kill(run);

    expect(resumed.exitCode).toBe(0);
    expect(resumed.stderr).toContain(`${PARALLEL} calls of a process that died or was suspended`);
    expect(resumed.stderr).toContain(`listed in: .thrice/runs/${group}/paid-twice.jsonl`);
    expect(toldCalls(ledger, group)).toHaveLength(PARALLEL);
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group) + PARALLEL);
  });

  it('are listed when Ctrl-C is pressed twice', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const { run, group } = await startHeld('slow.json', folder, vendor);

    run.child.kill('SIGINT');
    await run.prints(/press Ctrl-C again/);
    run.child.kill('SIGINT');
    const stopped = await endOf(run);
    const toldAtStop = toldCalls(ledger, group).length;
    vendor.release();
    const resumed = await callThrice(['resume', group], { cwd: folder.path });

    expect(stopped.exitCode).toBe(130);
    expect(stopped.stderr).toContain(`listed in: .thrice/runs/${group}/paid-twice.jsonl`);
    expect(toldAtStop).toBe(PARALLEL);
    expect(resumed.exitCode).toBe(0);
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group) + PARALLEL);
    expect(toldCalls(ledger, group)).toHaveLength(PARALLEL);
  });

  it('are those in flight, not all whose cells have a further step', async () => {
    await using vendor = await startCountingVendor(['slow']);
    await using folder = await benchmarks(vendor);
    const ledger = folder.resolve('.thrice');
    const { run, group } = await startHeld('steps.json', folder, vendor);

    await kill(run);
    vendor.release();
    const resumed = await callThrice(['resume', group], { cwd: folder.path });

    expect(resumed.exitCode).toBe(0);
    expect(resumed.stderr).toContain(`; ${PARALLEL} calls were in flight and may be paid twice`);
    expect(toldCalls(ledger, group).map(({ step }) => step)).toEqual(
      Array.from({ length: PARALLEL }, () => 'judge'),
    );
    expect(vendor.billedTo(group)).toBe(journaledCalls(ledger, group) + PARALLEL);
  });
});
