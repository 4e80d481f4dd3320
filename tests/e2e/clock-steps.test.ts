import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Fault, type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { workerCount } from '../support/ledger-view.ts';
import { printedGroup, type RunningThrice, startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const PARALLEL = 5;
/** As many as one process holds at once: the other one finds only what the first one holds. */
const QUESTION_COUNT = 3 * PARALLEL;
const LATENCY_MS = 3_000;

const steppingClock = pathToFileURL(resolve(import.meta.dirname, '../fixtures/stepping-clock.mjs'));

/** Refuses half of the questions once. */
const refusing: Fault = { kind: 'rate-limit', rate: 0.5, maxPerQuestion: 1, retryAfterSeconds: 2 };

function startModel(faults: readonly Fault[]): Promise<Simulator> {
  return startSimulator({
    behaviour: { seed: 1, models: { a: { accuracy: 1, latencyMs: { fixed: LATENCY_MS } } } },
    faults: { seed: 1, faults: [...faults] },
  });
}

/** Starts a command whose clock {@link setClocks} sets. */
function start(argv: readonly string[], folder: TemporaryFolder): RunningThrice {
  const environment = { NODE_OPTIONS: `--import ${steppingClock.href}` };
  return startThrice(argv, { cwd: folder.path, environment });
}

/** Sets the clocks of all commands in a folder, as setting that of their machine does. */
async function setClocks(folder: TemporaryFolder, stepMs: number): Promise<void> {
  const file = folder.resolve('clock-step');
  await writeFile(`${file}.new`, String(stepMs));
  await rename(`${file}.new`, file);
}

function answeredTwice({ requestsByQuestion }: ReturnType<Simulator['stats']>): readonly string[] {
  return [...requestsByQuestion].flatMap(([key, { ok }]) => (ok === 1 ? [] : [`${key}: ${ok}`]));
}

describe('two processes whose clock is set while they work', () => {
  it.each([
    // Every task is held, and the lease of each seems to have expired.
    { what: 'forward by two minutes', stepMs: 120_000, faults: [] },
    // Some tasks wait, until an hour later as it seems.
    { what: 'back by an hour', stepMs: -3_600_000, faults: [refusing] },
  ])('pay every question once and end soon when it is set $what', async ({ stepMs, faults }) => {
    await using model = await startModel(faults);
    await using folder = await temporaryFolder(
      smallBenchmark({
        url: model.url,
        questionCount: QUESTION_COUNT,
        top: `parallel = ${PARALLEL}`,
      }),
    );

    await using run = start(['run', 'benchmark.toml'], folder);
    await run.prints(printedGroup);
    await using helper = start(['resume', 'benchmark'], folder);
    await waitWhileRunning('both are at work', [run, helper], () => {
      return workerCount(folder.resolve('.thrice')) === 2;
    });
    await setClocks(folder, stepMs);
    const outcomes = [await endOf(run), await endOf(helper)];

    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(answeredTwice(model.stats())).toEqual([]);
    expect(model.stats().okCount).toBe(QUESTION_COUNT);
  });
});
