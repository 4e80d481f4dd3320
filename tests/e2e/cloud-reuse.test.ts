import type { Summary } from '@thrice/core';
import { type AwsRequest, type Cloud, connectionLost, type Intercept } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { parseGraph } from '../infra/graph.ts';
import { AskedPermissions, COMMANDS } from '../support/asked-permissions.ts';
import { openCloud, synthesizeStack } from '../support/cloud.ts';
import type { Outcome } from '../support/run-thrice.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const CALLS = 2 * 2 * 30;

it('takes the calls of a group for others of its stage, which pay for none, also where the function that enters them dies', async () => {
  await using simulator = await startSimulator({
    behaviour: { seed: 7, models: { '*': { accuracy: 0.6 } } },
  });
  const files = stageBenchmark({
    url: simulator.url,
    questionCount: 30,
    configs: ['a', 'b'],
    top: 'replicates = 2',
    more: '[prices."sim/a"]\ninput = 1.0\noutput = 1.0\n[prices."sim/b"]\ninput = 1.0\noutput = 1.0',
  });
  await using folder = await temporaryFolder(files);
  const stack = await synthesizeStack();
  const asked = new AskedPermissions();
  const killer = new PlanKiller({ early: 1, late: 170 });
  const intercept: Intercept = async (request, proceed) => {
    if (killer.hasKilled(request)) return connectionLost;
    const response = await asked.intercept(request, proceed);
    return killer.kill(request) ? connectionLost : response;
  };
  await using opened = await openCloud({ stack, intercept, tickSeconds: 1 });
  killer.functions = opened.functions;
  // Commands name themselves in their requests, as functions do.
  const variables = { ...opened.variables, AWS_SDK_UA_APP_ID: `${COMMANDS}-1` };
  const cloud = { ...opened, variables };
  const run = (...argv: readonly string[]) =>
    thriceIn(cloud, folder.path, 'run', 'benchmark.toml', '--json', ...argv);

  const first = await run('--label', 'first');
  const billed = simulator.stats().billed;
  const reuse = ['--reuse', 'first'];
  const estimated = await thriceIn(
    cloud,
    folder.path,
    ...['estimate', 'benchmark.toml', '--json', '--replicates', '3', ...reuse],
  );
  const labels = ['undisturbed', 'early', 'late'];
  const others = await Promise.all(labels.map((label) => run('--label', label, ...reuse)));
  const verified = await Promise.all(
    labels.map((label) => thriceIn(cloud, folder.path, 'verify', label)),
  );
  const unknown = await run('--reuse', 'second');
  const fresh = await run(...reuse, '--fresh');

  expect([first, ...others, ...verified].map(({ exitCode }) => exitCode)).toEqual(
    Array.from({ length: 7 }, () => 0),
  );
  expect(JSON.parse(estimated.stdout)).toMatchObject({
    reusedCells: CALLS,
    calls: { expected: CALLS / 2 },
    seconds: { expected: null, upper: null },
  });
  expect(killer.killed).toEqual(['early 1', 'late 170']);
  expect(simulator.stats()).toMatchObject({ okCount: CALLS, billed });
  for (const other of others) {
    expect(scoresOf(other)).toEqual(scoresOf(first));
    expect(costsOf(other)).toEqual([0, 0, 0, 0]);
    expect(other.stderr).toContain(`${CALLS} of them with calls of earlier groups`);
  }
  expect(asked.listUngranted(parseGraph(stack))).toEqual([]);
  expect(unknown).toMatchObject({ exitCode: 64 });
  expect(unknown.stderr).toContain('"thrice ls --stage local" lists all groups');
  expect(fresh).toMatchObject({ exitCode: 64 });
  expect(fresh.stderr).toContain('expected either --reuse or --fresh');
});

/** Kills the plan function of each labelled group once, right after so many of its calls are entered. */
class PlanKiller {
  functions: Cloud['functions'] | undefined;
  readonly #counts = new Map<string, number>();
  readonly #killAt: Readonly<Record<string, number>>;
  readonly #dead = new Set<string>();
  readonly #killed: string[] = [];

  constructor(killAt: Readonly<Record<string, number>>) {
    this.#killAt = killAt;
  }

  /** The kills, as `label count`. */
  get killed(): readonly string[] {
    return this.#killed.toSorted();
  }

  /** Whether a request is from a function that was killed. */
  hasKilled({ environmentId = '' }: AwsRequest): boolean {
    return this.#dead.has(environmentId);
  }

  /** Kills the function whose request was just served, if it is its turn. */
  kill(request: AwsRequest): boolean {
    const { environmentId = '' } = request;
    const label = enteredFor(request);
    if (label === undefined || !environmentId.startsWith('Plan-')) return false;
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    if (count !== this.#killAt[label]) return false;
    this.#dead.add(environmentId);
    this.#killed.push(`${label} ${count}`);
    this.functions?.get('Plan')?.kill(environmentId);
    return true;
  }
}

/** The label of the group that a request enters a call for; undefined for any other request. */
function enteredFor({ operation, input }: AwsRequest): string | undefined {
  if (operation !== 'PutItem') return undefined;
  return /"cache#([a-z]+)-/.exec(JSON.stringify(input))?.[1];
}

function summaryOf({ stdout }: Outcome): Summary {
  return JSON.parse(stdout) as Summary;
}

function scoresOf(outcome: Outcome): unknown {
  return summaryOf(outcome).configs.map(({ replicates }) => replicates.map(({ score }) => score));
}

function costsOf(outcome: Outcome): readonly (number | null)[] {
  return summaryOf(outcome).configs.flatMap(({ replicates }) =>
    replicates.map(({ costUsd }) => costUsd),
  );
}
