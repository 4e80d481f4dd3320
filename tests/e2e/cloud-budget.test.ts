import type { Summary } from '@thrice/core';
import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { parseGraph } from '../infra/graph.ts';
import { AskedPermissions } from '../support/asked-permissions.ts';
import { openCloud, synthesizeStack } from '../support/cloud.ts';
import { groupOf } from '../support/run-thrice.ts';
import { openStageStores, stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** USD per million tokens; output is nearly all of a call's cost. */
const price = { input: 1, output: 1_000 } as const;
/** 40 times the worst case of a call. */
const CAP_USD = 4;

it('keeps a budget in a stage, pauses at it with the command that raises it, and resumes the rest', async () => {
  const outputTokens = { median: 60, p99: 99 };
  await using simulator = await startSimulator({
    behaviour: {
      seed: 5,
      models: { '*': { accuracy: 1, latencyMs: { fixed: 200 }, outputTokens } },
    },
  });
  const billedUsd = () => {
    const { inputTokens, outputTokens: tokens } = simulator.stats().billed;
    return (inputTokens * price.input + tokens * price.output) / 1e6;
  };
  const files = stageBenchmark({
    url: simulator.url,
    questionCount: 120,
    top: `budget_usd = ${CAP_USD}`,
    more: `max_tokens = 100\n\n[prices."sim/a"]\ninput = ${price.input}\noutput = ${price.output}`,
  });
  await using folder = await temporaryFolder(files);
  const stack = await synthesizeStack();
  const asked = new AskedPermissions();
  await using cloud = await openCloud({ stack, intercept: asked.intercept, tickSeconds: 1 });

  const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
  const group = groupOf(ran);
  const billedAtCap = billedUsd();
  using stage = await openStageStores(cloud);
  const [account] = await stage.budgets.readAccounts(group);
  const status = await thriceIn(cloud, folder.path, 'status', group);
  const raised = await thriceIn(
    cloud,
    folder.path,
    'resume',
    group,
    '--budget-usd',
    '20',
    '--json',
  );
  const verified = await thriceIn(cloud, folder.path, 'verify', group);

  expect({ ...ran, stdout: '' }).toMatchObject({ exitCode: 3 });
  expect(ran.stderr).toContain('[budget-nearly-spent]');
  expect(ran.stderr).toContain(`next: thrice resume ${group} --stage local --budget-usd 8`);
  expect(billedAtCap).toBeLessThanOrEqual(CAP_USD);
  expect(billedAtCap / CAP_USD).toBeGreaterThanOrEqual(0.97);
  expect(account?.reservedNanoUsd).toBe(0);
  expect((account?.spentNanoUsd ?? 0) / 1e9).toBeCloseTo(billedAtCap, 6);
  expect(status.stdout).toContain(`${group}: paused at budget`);
  expect(status.stdout).toContain(' of $4.0000 spent');
  expect([raised.exitCode, verified.exitCode]).toEqual([0, 0]);
  expect(simulator.stats().okCount).toBe(120);
  // What budgets ask of the table and the bucket is in three functions.
  expect(asked.listUngranted(parseGraph(stack))).toEqual([]);
  expect((JSON.parse(raised.stdout) as Summary).budget?.spentUsd).toBeCloseTo(billedUsd(), 6);
});
