import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { builtinLanes, type Summary } from '@thrice/core';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { readPage } from '../support/doc-page.ts';
import { callThrice, groupOf, type Outcome } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// That a kill at any moment repeats no recorded answer, `kill.test.ts` shows.

const page = resolve(import.meta.dirname, '../../docs/guides/from-sparkit.md');
const vendors = ['openai', 'anthropic', 'gemini', 'kimi', 'deepseek', 'grok', 'mistral'];
const questions = additions(6);
const runNumbers = [1, 2, 3];
/** Those of Kimi and Mistral are missing. */
const environment = Object.fromEntries(
  ['OPENAI', 'ANTHROPIC', 'GEMINI', 'DEEPSEEK', 'GROK'].map((name) => [`${name}_API_KEY`, 'key']),
);

/** The files of the page, whose lanes lead to a server in place of the vendors. */
async function runbookFiles({ url }: Simulator): Promise<Readonly<Record<string, string>>> {
  const files = new Map(
    readPage(await readFile(page, 'utf8')).flatMap((step) =>
      step.kind === 'file' ? [[step.path, step.text]] : [],
    ),
  );
  const readSpec = (name: string): string => {
    const spec = parse(files.get(name) ?? '') as { lanes: Record<string, object> };
    const names = new Set([...vendors, ...Object.keys(spec.lanes)]);
    const lanes: Readonly<Record<string, object>> = Object.fromEntries(
      [...names].map((lane) => {
        // The key of a vendor goes to no other server by itself.
        const api_key_env = builtinLanes[lane]?.apiKeyEnv;
        return [lane, { api_key_env, ...spec.lanes[lane], base_url: url }];
      }),
    );
    return JSON.stringify({ ...spec, lanes });
  };
  return {
    'sparkit.json': readSpec('sparkit.toml'),
    'direct.json': readSpec('direct.toml'),
    'prompt.txt': files.get('prompt.txt') ?? '',
    'questions.jsonl': toJsonl(questions),
  };
}

/** Vendors that know every sum; Grok's filters some of its answers, each of them once. */
async function startVendors(): Promise<Simulator> {
  return await startSimulator({
    behaviour: { seed: 3, models: { '*': { accuracy: 1, style: 'sentence' } } },
    questions,
    faults: {
      seed: 5,
      faults: [{ kind: 'content-filter', model: 'grok-4-0709', rate: 0.5, maxPerQuestion: 1 }],
    },
  });
}

/** How often each cell was asked, by `run/config/id`. */
function countRequests({ stats }: Simulator): ReadonlyMap<string, number> {
  return new Map([...stats().requestsByQuestion].map(([cell, { requests }]) => [cell, requests]));
}

/** What was asked since then. */
function askedSince(
  before: ReadonlyMap<string, number>,
  server: Simulator,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...countRequests(server)].flatMap(([cell, count]) => {
      const more = count - (before.get(cell) ?? 0);
      return more === 0 ? [] : [[cell, more]];
    }),
  );
}

/** A group of the runbook. */
interface Runbook {
  readonly spec: string;
  readonly label: string;
  readonly configCount: number;
  /** Those without a key. */
  readonly skipped: readonly string[];
  readonly failing: string;
}

/** A command line in the folder of the runbook. */
type Thrice = (...argv: readonly string[]) => Promise<Outcome>;

/** The manifest of a run. */
interface Manifest {
  readonly configs: readonly {
    readonly config: string;
    readonly status: string;
    readonly failed_question_ids?: readonly string[];
  }[];
}

async function readRunFile<T>(folder: string, run: string, name: string): Promise<T> {
  return JSON.parse(await readFile(join(folder, run, name), 'utf8')) as T;
}

/** The cells that a run lists as failed, in its manifest as in its files. */
async function failedCellsOf(
  folder: string,
  run: string,
  { configCount, skipped }: Runbook,
): Promise<readonly string[]> {
  const { configs } = await readRunFile<Manifest>(folder, run, 'manifest.json');
  expect(configs).toHaveLength(configCount);
  const [left, asked] = [true, false].map((isSkipped) =>
    configs.filter(({ status }) => (status === 'skipped_missing_keys') === isSkipped),
  );
  expect(left?.map(({ config }) => config)).toEqual(skipped);
  const cells = await Promise.all(
    (asked ?? []).map(async ({ config, failed_question_ids: ids = [] }) => {
      const failures = await readRunFile<{ id: string }[]>(folder, run, `failures_${config}.json`);
      expect(failures.map(({ id }) => id)).toEqual(ids);
      return ids.map((id) => `${run}/${config}/${id}/answer`);
    }),
  );
  return cells.flat();
}

/** Checks the table of a group, in its three forms. */
async function expectTable(
  thrice: Thrice,
  { label, configCount, skipped }: Runbook,
): Promise<void> {
  const { stdout: json } = await thrice('summarize', label, '--json');
  const { stdout: markdown } = await thrice('summarize', label, '--md');
  const { stdout: csv } = await thrice('summarize', label, '--csv');
  const configs = (JSON.parse(json) as Summary).configs.filter(
    ({ config }) => !skipped.includes(config),
  );
  expect(configs).toHaveLength(configCount - skipped.length);
  for (const { config, replicates, mean, variance } of configs) {
    expect(replicates.map(({ questions: n, coverage }) => [n, coverage])).toEqual(
      runNumbers.map(() => [questions.length, 1]),
    );
    const tokens = replicates.map(({ outputTokens }) => outputTokens ?? Number.NaN);
    expect([config, mean['score'], variance['score']]).toEqual([config, 1, 0]);
    expect(mean['outputTokens']).toBeCloseTo(meanOf(tokens), 9);
    expect(variance['outputTokens']).toBeCloseTo(varianceOf(tokens), 9);
    expect([markdown, csv].every((table) => table.includes(config))).toBe(true);
  }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The sample variance. */
function varianceOf(values: readonly number[]): number {
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}

describe('the runbook of SPARKIT', () => {
  it.each<Runbook>([
    {
      spec: 'sparkit.json',
      label: 'hle_gold_triplicate_sparkit',
      configCount: 11,
      skipped: ['single_kimi', 'single_mistral'],
      failing: 'single_grok',
    },
    {
      spec: 'direct.json',
      label: 'hle_gold_triplicate_direct',
      configCount: 7,
      skipped: ['direct_kimi', 'direct_mistral'],
      failing: 'direct_grok',
    },
  ])(
    'asks $spec three times without two keys, again what failed, and gives one table',
    async (own) => {
      await using server = await startVendors();
      await using folder = await temporaryFolder(await runbookFiles(server));
      const thrice: Thrice = (...argv) => callThrice(argv, { cwd: folder.path, environment });
      const run = ['run', own.spec, '--label', own.label];

      const refused = await thrice(...run);
      expect(refused.exitCode).toBe(69);
      expect(refused.stderr.match(/(?<=config ")\w+/g)).toEqual(own.skipped);
      expect(countRequests(server).size).toBe(0);

      const ran = await thrice(...run, '--skip-missing-keys');
      const group = groupOf(ran);
      expect(ran.exitCode).toBe(1);
      const runs = folder.resolve('.thrice/runs', group);
      const failed = await Promise.all(
        runNumbers.map((number) => failedCellsOf(runs, `${group}-r${number}`, own)),
      );
      const failedCells = failed.flat();
      expect([...new Set(failedCells.map((cell) => cell.split('/')[1]))]).toEqual([own.failing]);
      expect(failedCells.length).toBeLessThan(runNumbers.length * questions.length);

      const before = countRequests(server);
      const rerun = ['rerun', own.label, '--failed', '--configs', own.failing];
      expect(await thrice(...rerun)).toMatchObject({ exitCode: 0 });
      expect(askedSince(before, server)).toEqual(
        Object.fromEntries(failedCells.map((cell) => [cell, 1])),
      );
      const afterwards = countRequests(server);
      expect(await thrice(...rerun)).toMatchObject({ exitCode: 0 });
      expect(askedSince(afterwards, server)).toEqual({});

      await expectTable(thrice, own);
      expect(await thrice('verify', own.label)).toMatchObject({ exitCode: 0 });
    },
  );

  it.each([
    // The reasons why an answer ended are the words of each protocol.
    { config: 'single_openai', model: 'gpt-5.2', rawFinishReason: 'stop' },
    { config: 'single_openai_pro', model: 'gpt-5.2-pro', rawFinishReason: 'completed' },
    { config: 'single_anthropic', model: 'claude-opus-4-6', rawFinishReason: 'end_turn' },
    { config: 'routed_frontier', model: 'claude-opus-4-6', rawFinishReason: 'end_turn' },
    { config: 'routed_frontier_plus', model: 'claude-opus-4-6', rawFinishReason: 'end_turn' },
  ])('asks $model for $config, over its protocol', async ({ config, model, rawFinishReason }) => {
    await using server = await startVendors();
    await using folder = await temporaryFolder(await runbookFiles(server));

    const ran = await callThrice(['run', 'sparkit.json', '--configs', config], {
      cwd: folder.path,
      environment,
    });

    const group = groupOf(ran);
    const rows = await readCellRows(folder.resolve('.thrice'), group, config);
    const calls = rows.flatMap((row) => row.calls);
    expect(calls).toHaveLength(runNumbers.length * questions.length);
    expect(calls).toMatchObject(calls.map(() => ({ model, rawFinishReason })));
  });
});
