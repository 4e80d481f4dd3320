import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleepMs } from 'node:timers/promises';
import type { RateLimit, RateWindow } from '@thrice/simulator';
import { startDynamo } from '../support/aws-emulators.ts';
import { groupShare, sumWindows } from '../support/rate-windows.ts';
import type { Measurement } from './bench.ts';
import {
  endProcess,
  firstLine,
  startSimulatorProcess,
  startThrice,
  writeBenchmark,
} from './bench-support.ts';

const LEAST_RATIO = 0.85;
const MOST_REFUSED_RATIO = 0.03;
/** By how much the share of one of two groups may differ from the half, as a ratio of it. */
const UNFAIR_RATIO = 0.2;
/** The limit changes in the middle; before and after, so much time is left to find it. */
const SECONDS = 300;
const CHANGE_SECONDS = 150;
const FIND_SECONDS = 90;
const WINDOW_SECONDS = 10;
/** Calls a second of all workers together, were there no limit: two and a half times the higher one. */
const DEMAND_PER_SECOND = 50;
const QUESTION_COUNT = 20_000;

/** Workers against a provider that does not tell its limit. */
interface Scenario {
  readonly name: string;
  readonly limit: RateLimit;
  /** Of one group each. */
  readonly workers: readonly number[];
  readonly processesPerGroup: number;
}

const base = { burstSeconds: 1, retryAfter: 'seconds' } as const;
const requests: RateLimit = {
  ...base,
  requestsPerMinute: 1_200,
  change: { afterSeconds: CHANGE_SECONDS, requestsPerMinute: 600 },
};
const tokens: RateLimit = {
  ...base,
  tokensPerMinute: 80_000,
  change: { afterSeconds: CHANGE_SECONDS, tokensPerMinute: 160_000 },
};
const scenarios: readonly Scenario[] = [
  { name: '1 worker, requests', limit: requests, workers: [1], processesPerGroup: 1 },
  { name: '50 workers, requests', limit: requests, workers: [50], processesPerGroup: 4 },
  { name: '500 workers, requests', limit: requests, workers: [500], processesPerGroup: 4 },
  { name: '50 workers, tokens', limit: tokens, workers: [50], processesPerGroup: 4 },
  {
    name: 'two groups of 25, requests',
    limit: requests,
    workers: [25, 25],
    processesPerGroup: 2,
  },
];

/** Starts the processes of a scenario. */
type StartWorkers = (
  scenario: Scenario,
  url: string,
  folder: string,
) => Promise<readonly ChildProcess[]>;

/**
 * How much of a hidden limit workers of several processes use, and how many of their calls are refused, in the provider's own
 * figures: on one machine with the whole command, and in a stage with its governor over an emulated table. The limit
 * changes once.
 */
export async function benchHiddenLimit(folder: string): Promise<readonly Measurement[]> {
  await using dynamo = await startDynamo();
  const onStage: StartWorkers = async (scenario, url) => {
    const table = await dynamo.openTable();
    const { hostname = '127.0.0.1', port = 0 } = (await table.client.config.endpoint?.()) ?? {};
    const args = { dynamoUrl: `http://${hostname}:${port}`, tableName: table.tableName, url };
    return startStageWorkers(scenario, args);
  };
  const engines = [
    ['one machine', startCommands],
    ['stage', onStage],
  ] as const;
  const measurements: Measurement[] = [];
  for (const [engine, start] of engines) {
    const runs = scenarios.map((scenario) => measure(engine, scenario, start, folder));
    measurements.push(...(await Promise.all(runs)).flat());
  }
  return measurements;
}

async function measure(
  engine: string,
  scenario: Scenario,
  start: StartWorkers,
  folder: string,
): Promise<readonly Measurement[]> {
  const name = `${engine} ${scenario.name}`.replaceAll(/\W+/g, '-');
  const paths = {
    behaviour: join(folder, `${name}.json`),
    faults: join(folder, `${name}-faults.json`),
  };
  const workerCount = scenario.workers.reduce((sum, count) => sum + count, 0);
  const latencyMs = { fixed: (1000 * workerCount) / DEMAND_PER_SECOND };
  const model = { accuracy: 1, latencyMs };
  await writeFile(paths.behaviour, JSON.stringify({ seed: 1, models: { model } }));
  await writeFile(paths.faults, JSON.stringify({ seed: 1, faults: [], rateLimit: scenario.limit }));
  await using simulator = await startSimulatorProcess([
    '--behaviour',
    paths.behaviour,
    '--faults',
    paths.faults,
  ]);
  const processes = await start(scenario, simulator.url, join(folder, name));
  try {
    const windows = await waitForWindows(simulator.url);
    return describe(`${engine}, ${scenario.name}`, scenario, windows);
  } finally {
    await Promise.all(processes.map((child) => endProcess(child, 'SIGKILL')));
  }
}

/** Waits until the provider has been called for long enough. */
async function waitForWindows(url: string): Promise<readonly RateWindow[]> {
  for (;;) {
    await sleepMs(2_000);
    const response = await fetch(new URL('/thrice/stats', url));
    const { rateWindows } = (await response.json()) as { rateWindows: readonly RateWindow[] };
    if (rateWindows.length > SECONDS / WINDOW_SECONDS) return rateWindows;
  }
}

function describe(
  what: string,
  { workers }: Scenario,
  windows: readonly RateWindow[],
): readonly Measurement[] {
  const between = (from: number, to: number) =>
    windows.slice(from / WINDOW_SECONDS, to / WINDOW_SECONDS);
  const parts = {
    'before the change': between(FIND_SECONDS, CHANGE_SECONDS),
    'after it': between(CHANGE_SECONDS + FIND_SECONDS, SECONDS),
  };
  return Object.entries(parts).flatMap(([when, part]) => {
    const { utilizationRatio, refusedRatio } = sumWindows(part);
    const use: Measurement = {
      what: `hidden limit: ${what}, ${when}`,
      measured: `${percent(utilizationRatio)} used, ${percent(refusedRatio)} refused`,
      budget: `>= ${percent(LEAST_RATIO)}, < ${percent(MOST_REFUSED_RATIO)}`,
      isMet: utilizationRatio >= LEAST_RATIO && refusedRatio < MOST_REFUSED_RATIO,
    };
    if (workers.length === 1) return [use];
    const share = groupShare(part);
    const fair: Measurement = {
      what: `hidden limit: ${what}, share of one group, ${when}`,
      measured: percent(share),
      budget: `50 % +- ${percent(UNFAIR_RATIO / 2)}`,
      isMet: Math.abs(share - 0.5) <= UNFAIR_RATIO / 2,
    };
    return [use, fair];
  });
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

/** The whole command: a run, and processes that join its work. */
async function startCommands(
  { workers, processesPerGroup }: Scenario,
  url: string,
  folder: string,
): Promise<readonly ChildProcess[]> {
  const processes: ChildProcess[] = [];
  const dir = ['--dir', join(folder, 'runs')];
  await mkdir(folder, { recursive: true });
  for (const [index, workerCount] of workers.entries()) {
    const parallel = Math.ceil(workerCount / processesPerGroup);
    const name = `group-${index}`;
    const spec = await writeBenchmark(folder, {
      name,
      url,
      questionCount: QUESTION_COUNT,
      parallel,
    });
    const run = startThrice(['run', spec, ...dir]);
    const group = await firstLine(run);
    run.stderr?.resume();
    processes.push(run);
    for (let no = 1; no < processesPerGroup; no += 1) {
      const work = startThrice(['work', group, ...dir]);
      work.stdout?.resume();
      work.stderr?.resume();
      processes.push(work);
    }
  }
  return processes;
}

/** Processes with the governor of a stage, in which each worker is an execution environment of its own. */
function startStageWorkers(
  { workers, processesPerGroup }: Scenario,
  args: { readonly dynamoUrl: string; readonly tableName: string; readonly url: string },
): readonly ChildProcess[] {
  const script = join(import.meta.dirname, 'hidden-limit-worker.ts');
  return workers.flatMap((workerCount, index) =>
    Array.from({ length: processesPerGroup }, () => {
      const own = {
        group: `group-${index}`,
        workerCount: Math.ceil(workerCount / processesPerGroup),
      };
      const stdio = ['ignore', 'ignore', 'inherit'] as const;
      return spawn(process.execPath, [script, JSON.stringify({ ...args, ...own })], {
        stdio: [...stdio],
      });
    }),
  );
}
