import { readdir, readFile } from 'node:fs/promises';
import type { Estimate } from '@thrice/core';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { callThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { billedUsd, priceLines } from '../support/spend.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const url = 'http://127.0.0.1:9/v1';

describe('thrice estimate', () => {
  it('calls nothing and creates nothing', async () => {
    await using folder = await temporaryFolder(smallBenchmark({ url, configs: ['a', 'b'] }));

    const { exitCode, stdout } = await callThrice(['estimate', 'benchmark.toml'], {
      cwd: folder.path,
    });

    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      '8 cells, cost unknown (a: no price for lab/a; b: no price for lab/b)',
    );
    expect((await readdir(folder.path)).toSorted()).toEqual(['benchmark.toml', 'questions.jsonl']);
  });

  it.each([
    ['all', [], 8],
    ['--limit', ['--limit', '3'], 6],
    ['--configs', ['--configs', 'b'], 4],
    ['--replicates', ['--replicates', '5'], 40],
  ])('counts the cells that run would have: %s', async (_, options, cells) => {
    await using folder = await temporaryFolder(smallBenchmark({ url, configs: ['a', 'b'] }));

    const { stdout } = await callThrice(['estimate', 'benchmark.toml', '--json', ...options], {
      cwd: folder.path,
    });

    expect(JSON.parse(stdout)).toMatchObject({ cells, pilot: null });
  });

  it('counts nothing for the cells whose calls an earlier group has bought, and run says the same first', async () => {
    await using simulator = await startSimulator();
    const prices = `max_tokens = 10\n${priceLines('a')}`;
    const files = smallBenchmark({ url: simulator.url, more: prices });
    await using folder = await temporaryFolder(files);
    const at = { cwd: folder.path };
    await callThrice(['run', 'benchmark.toml', '--label', 'paid', '--limit', '3'], at);
    const again = ['benchmark.toml', '--replicates', '2', '--reuse', 'paid'];

    const estimated = await callThrice(['estimate', ...again, '--json'], at);
    const without = await callThrice(['estimate', 'benchmark.toml', '--limit', '1', '--json'], at);
    const whole = await callThrice(['estimate', ...again, '--limit', '3'], at);
    const ran = await callThrice(['run', ...again], at);

    const { costUsd, calls } = JSON.parse(estimated.stdout) as Estimate;
    expect(JSON.parse(estimated.stdout)).toMatchObject({ cells: 8, reusedCells: 3 });
    expect(calls.expected).toBe(5);
    const oneCell = (JSON.parse(without.stdout) as Estimate).costUsd.upper ?? 0;
    expect((costUsd.upper ?? 0) / oneCell).toBeCloseTo(5, 1);
    expect(whole.stdout).toContain('6 cells, 3 of them with calls of earlier groups, ');
    expect(ran.stderr).toContain('8 cells, 3 of them with calls of earlier groups, ');
    expect(simulator.stats().okCount).toBe(3 + 5);
  });

  it('counts what configs share once, and what an earlier vote has bought not at all, as run buys it', async () => {
    await using simulator = await startSimulator();
    const votes = (samples: number) =>
      `[[configs]]\nname = "vote"\nsolver = "vote"\nmodel = "lab/a"\nsamples = ${samples}\nscorer = "includes"\n`;
    const twin = '[[configs]]\nname = "exact"\nmodel = "lab/a"\n';
    const more = `${twin}${votes(3)}${priceLines('a')}`;
    const files = smallBenchmark({ url: simulator.url, top: 'share_calls = true', more });
    const { 'benchmark.toml': spec } = files;
    await using folder = await temporaryFolder({
      ...files,
      'more.toml': spec.replace('samples = 3', 'samples = 5'),
    });
    const at = { cwd: folder.path };
    const counts: number[] = [];
    const run = async (...argv: readonly string[]): Promise<Estimate> => {
      const estimated = await callThrice(['estimate', ...argv, '--json'], at);
      const boughtBefore = simulator.stats().okCount;
      await callThrice(['run', ...argv], at);
      counts.push(simulator.stats().okCount - boughtBefore);
      return JSON.parse(estimated.stdout) as Estimate;
    };

    const shared = await run('benchmark.toml');
    const reused = await run('more.toml', '--reuse', 'benchmark');

    // Of 4 questions; the first sample of the vote is what the others ask.
    expect(counts).toEqual([4 * 3, 4 * 2]);
    expect([shared.calls, reused.calls]).toEqual(
      counts.map((count) => ({ expected: count, lower: count, upper: count })),
    );
    expect(shared).toMatchObject({ cells: 12, sharedCells: 4, reusedCells: 0 });
    expect(reused).toMatchObject({ cells: 12, sharedCells: 0, reusedCells: 8 });
  });

  it('runs a pilot, which is paid, and predicts the cost of the run from it', async () => {
    await using simulator = await startSimulator();
    const more = priceLines('a');
    await using folder = await temporaryFolder(
      smallBenchmark({ url: simulator.url, questionCount: 20, more }),
    );
    const command = ['estimate', 'benchmark.toml', '--pilot', '4', '--json'];

    const { exitCode, stdout } = await callThrice(command, { cwd: folder.path });
    const pilotUsd = billedUsd(simulator);
    await callThrice(['run', 'benchmark.toml', '--json'], { cwd: folder.path });
    const runUsd = billedUsd(simulator) - pilotUsd;

    expect(exitCode).toBe(0);
    const { costUsd, calls, pilot } = JSON.parse(stdout) as Estimate & {
      readonly pilot: { readonly group: string; readonly cells: number };
    };
    expect(calls.expected).toBe(20);
    expect(pilotUsd).toBeGreaterThan(0);
    expect(Math.abs((costUsd.expected ?? 0) / runUsd - 1)).toBeLessThan(0.03);
    expect(pilot).toEqual({
      group: expect.stringMatching(/^benchmark-pilot-/) as string,
      cells: 4,
    });
    const summary = await readFile(
      folder.resolve(`.thrice/runs/${pilot.group}/summary.json`),
      'utf8',
    );
    expect(JSON.parse(summary)).toMatchObject({ questions: 4 });
  });

  it('ends as the pilot does where that cannot be run', async () => {
    await using simulator = await startSimulator({
      faults: { seed: 1, faults: [{ kind: 'quota' }] },
    });
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));

    const { exitCode, stdout, stderr } = await callThrice(
      ['estimate', 'benchmark.toml', '--pilot', '2'],
      { cwd: folder.path },
    );

    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('thrice resume benchmark-pilot-');
  });
});
