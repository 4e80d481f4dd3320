import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { type RunningThrice, startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const PARALLEL = 5;
const QUESTION_COUNT = 60;
/** Long enough that both processes have calls in flight when the clock is set. */
const LATENCY_MS = 1_500;

const steppingClock = pathToFileURL(resolve(import.meta.dirname, '../fixtures/stepping-clock.mjs'));

/** Starts a model that refuses half of the questions once, for two seconds. */
function startModel(): Promise<Simulator> {
  return startSimulator({
    behaviour: { seed: 1, models: { a: { accuracy: 1, latencyMs: { fixed: LATENCY_MS } } } },
    faults: {
      seed: 1,
      faults: [{ kind: 'rate-limit', rate: 0.5, maxPerQuestion: 1, retryAfterSeconds: 2 }],
    },
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
    { what: 'forward by two minutes', stepMs: 120_000 },
    { what: 'back by an hour', stepMs: -3_600_000 },
  ])('pay every question once and end soon when it is set $what', async ({ stepMs }) => {
    await using model = await startModel();
    await using folder = await temporaryFolder(
      smallBenchmark({
        url: model.url,
        questionCount: QUESTION_COUNT,
        top: `parallel = ${PARALLEL}`,
      }),
    );

    await using run = start(['run', 'benchmark.toml'], folder);
    await run.prints(/\n/);
    await using helper = start(['resume', 'benchmark'], folder);
    await waitWhileRunning('both have calls in flight', [run, helper], () => {
      const { maxOpenCount, okCount } = model.stats();
      return maxOpenCount > PARALLEL && okCount > QUESTION_COUNT / 4;
    });
    await setClocks(folder, stepMs);
    const outcomes = [await endOf(run), await endOf(helper)];

    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(answeredTwice(model.stats())).toEqual([]);
    expect(model.stats().okCount).toBe(QUESTION_COUNT);
    expect(model.stats().faultCounts['rate-limit']).toBeGreaterThan(0);
  });
});
