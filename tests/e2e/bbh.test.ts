import { readFile } from 'node:fs/promises';
import type { CellRow, Comparison, Summary } from '@thrice/core';
import { loadRecordings, type Simulator, startSimulator } from '@thrice/simulator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigSummary } from '../../packages/core/src/results/summary.ts';
import { sampleVariance } from '../../packages/core/src/statistics/sample-variance.ts';
import {
  type BbhExpectation,
  bbhFolder,
  bbhToml,
  readBbhExpectation,
} from '../support/bbh-benchmark.ts';
import { callThrice, type Outcome } from '../support/run-thrice.ts';
import { hasSharedData } from '../support/shared-data.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

describe.runIf(hasSharedData)('BIG-Bench Hard from its recorded answers, over HTTP', () => {
  const resources = new AsyncDisposableStack();
  let expected: BbhExpectation;
  let simulator: Simulator;
  let folder: TemporaryFolder;
  let ran: Outcome;

  // One run of 9,698 calls for all tests below, which only read its results.
  beforeAll(async () => {
    expected = await readBbhExpectation();
    const recordings = await loadRecordings(bbhFolder);
    simulator = resources.use(await startSimulator({ recordings }));
    folder = resources.use(
      await temporaryFolder({ 'bbh.toml': bbhToml(simulator.url, expected.recorded.cot) }),
    );
    ran = await thrice('run', 'bbh.toml');
  });
  afterAll(() => resources.disposeAsync());

  const thrice = (...argv: string[]) => callThrice(argv, { cwd: folder.path });

  async function summaryOf(name: string): Promise<ConfigSummary> {
    const { stdout } = await thrice('summarize', 'bbh', '--json');
    const summary = JSON.parse(stdout) as Summary;
    const config = summary.configs.find((candidate) => candidate.config === name);
    if (config === undefined) throw new Error(`no config "${name}" in ${stdout}`);
    return config;
  }

  async function scoresOf(config: string): Promise<ReadonlyMap<string, number>> {
    const { stdout } = await thrice('ls', '--json');
    const [group = ''] = /bbh-\d{8}T\d{6}Z[\w-]*/.exec(stdout) ?? [];
    const file = folder.resolve(`.thrice/runs/${group}/${group}-r1/cells/${config}.jsonl`);
    const rows = (await readFile(file, 'utf8')).trimEnd().split('\n');
    return new Map(
      rows.map((line) => {
        const { id, score } = JSON.parse(line) as CellRow;
        return [id, score ?? Number.NaN] as const;
      }),
    );
  }

  it('asks every question of both arms exactly once', () => {
    const counts = [...simulator.stats().requestsByQuestion.values()];

    expect(ran.exitCode).toBe(0);
    expect(counts).toHaveLength(6511 + 3187);
    expect(counts.filter(({ requests, ok }) => requests !== 1 || ok !== 1)).toEqual([]);
  });

  it('gets 3408 of 6511 direct and 2109 of 3187 chain-of-thought answers right', async () => {
    const [direct, cot] = [await summaryOf('direct'), await summaryOf('cot')];

    expect(direct.replicates).toMatchObject([{ questions: 6511, correct: 3408, coverage: 1 }]);
    expect(cot.replicates).toMatchObject([{ questions: 3187, correct: 2109, coverage: 1 }]);
  });

  it.each(['direct', 'cot'] as const)(
    'reproduces every published accuracy of the %s arm',
    async (arm) => {
      const published = Object.entries(expected.published_accuracy[arm]);

      const bySubtask = (await summaryOf(arm)).byTag['subtask'] ?? {};

      expect(Object.keys(bySubtask).toSorted()).toEqual(
        published.map(([subtask]) => subtask).toSorted(),
      );
      const deviations = published.filter(([subtask, percent]) => {
        const score = bySubtask[subtask]?.score ?? Number.NaN;
        return !(Math.abs(score * 100 - percent) < 1e-9);
      });
      expect(deviations).toEqual([]);
      expect(published.map(([subtask]) => bySubtask[subtask]?.questions)).toEqual(
        published.map(([subtask]) => expected.n[subtask]),
      );
    },
  );

  it('prints each average by name, and no average of the paper for the incomplete arm', async () => {
    const { stdout, exitCode } = await thrice('summarize', 'bbh');

    expect(exitCode).toBe(0);
    expect(stdout.split('\n').filter((line) => /^(direct|cot): /.test(line))).toEqual([
      'cot: 85 answers cut off by their token limit',
      "direct: 56.6135 paper's 23 tasks (variants averaged)",
      "direct: 66.4426 paper's 12 NLP tasks",
      "direct: 45.8909 paper's 11 algorithmic tasks",
      'direct: 52.7597 mean over 27 of 27 subtasks',
      'direct: 52.3422 pooled over 6511 answers',
      "cot: not given (set incomplete) paper's 23 tasks (variants averaged)",
      "cot: not given (set incomplete) paper's 12 NLP tasks",
      "cot: not given (set incomplete) paper's 11 algorithmic tasks",
      expect.stringMatching(/^cot: \d\d\.\d{4} mean over 13 of 27 subtasks$/),
      'cot: 66.1751 pooled over 3187 answers',
    ]);
  });

  it('compares the arms on the recorded questions of both, with the exact p of every subtask', async () => {
    const argv = ['compare', 'bbh', 'cot', 'direct', '--by', 'subtask', '--json'];
    const { stdout, exitCode } = await thrice(...argv);
    const [cot, direct] = [await scoresOf('cot'), await scoresOf('direct')];
    const both = [...cot].map(([id, score]) => ({ id, cot: score, direct: direct.get(id) ?? 0 }));

    expect(exitCode).toBe(0);
    const [pair] = (JSON.parse(stdout) as Comparison).pairs;
    const differences = both.map((each) => each.cot - each.direct);
    const byHand = Math.sqrt((sampleVariance(differences) ?? 0) / differences.length);
    expect(differences).toHaveLength(3187);
    expect(pair?.all).toMatchObject({ n: 3187, questions: 3187, onlyB: 3324, verdict: 'better' });
    expect(pair?.all.stderr).toBeCloseTo(byHand, 12);
    const [lower = 0, upper = 0] = pair?.all.ci95 ?? [];
    expect(Math.abs((upper - lower) / 2 / 1.96 / byHand - 1)).toBeLessThan(0.02);
    const subtasks = Object.entries(pair?.byTag ?? {}).filter(([, { n }]) => n > 0);
    expect(subtasks.map(([subtask]) => subtask).toSorted()).toEqual(
      Object.keys(expected.published_accuracy.cot).toSorted(),
    );
    const exact = subtasks.map(([subtask]) => {
      const own = both.filter(({ id }) => id.includes(`${subtask}/`));
      const more = own.filter((each) => each.cot > each.direct).length;
      const less = own.filter((each) => each.cot < each.direct).length;
      return Math.min(1, 2 * binomialTail(Math.min(more, less), more + less));
    });
    const sorted = exact.toSorted((left, right) => left - right);
    for (const [index, [, figures]] of subtasks.entries()) {
      const p = exact[index] ?? Number.NaN;
      expect(figures.exact?.pValue.p).toBeCloseTo(p, 9);
      const upTo = sorted.slice(0, sorted.lastIndexOf(p) + 1);
      const holm = Math.max(...upTo.map((each, rank) => Math.min(1, each * (exact.length - rank))));
      expect(figures.pHolm?.p).toBeCloseTo(holm, 9);
    }
  });

  it('verifies every published number', async () => {
    const { stdout, exitCode } = await thrice('verify', 'bbh');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^9698 rows, 9698 answers rescored, \d+ figures recomputed: all numbers match\n$/,
    );
  });
});

/** The probability of at most so many heads, by the sum of its terms. */
function binomialTail(heads: number, count: number): number {
  let [term, sum] = [1, 0];
  for (let index = 0; index <= heads; index += 1) {
    sum += term;
    term *= (count - index) / (index + 1);
  }
  return sum / 2 ** count;
}
