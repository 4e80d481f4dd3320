import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BudgetSummary, Summary } from '@thrice/core';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { additions, patchyKnowledge, toJsonl } from '../support/additions.ts';
import { callThrice, groupOf, startThrice } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

/** USD per million tokens; output is nearly all of a call's cost. */
const price = { input: 1, output: 1_000 } as const;
const CAP_USD = 24;
const questions = additions(500);

const spec = (url: string, more: object = {}) =>
  JSON.stringify({
    questions: 'questions.jsonl',
    parallel: 16,
    budget_usd: CAP_USD,
    lanes: { lab: { base_url: url } },
    prices: { 'lab/m': price },
    configs: [{ name: 'a', model: 'lab/m', max_tokens: 100 }],
    ...more,
  });

describe('a budget', () => {
  it('holds for four processes of which one is killed, and a higher one resumes the rest', async () => {
    const outputTokens = { median: 60, p99: 99 };
    await using models = await startSimulator({
      behaviour: {
        seed: 5,
        models: { m: { accuracy: 1, latencyMs: { fixed: 1_000 }, outputTokens } },
      },
      questions: patchyKnowledge(questions),
    });
    const billedUsd = () => {
      const { inputTokens, outputTokens: tokens } = models.stats().billed;
      return (inputTokens * price.input + tokens * price.output) / 1e6;
    };
    await using folder = await temporaryFolder({
      'b.json': spec(models.url),
      'questions.jsonl': toJsonl(questions),
    });
    const cwd = folder.path;

    await using first = startThrice(['run', 'b.json'], { cwd });
    await waitWhileRunning('the group is named', [first], () => first.stdout.includes('\n'));
    const group = groupOf(first);
    await using second = startThrice(['resume', group], { cwd });
    await using third = startThrice(['resume', group], { cwd });
    await using fourth = startThrice(['resume', group], { cwd });
    const all = [first, second, third, fourth];
    await waitWhileRunning('all of them call', all, () => models.stats().maxOpenCount > 48);
    second.child.kill('SIGKILL');
    const ends = await Promise.all(all.map(endOf));
    const status = await callThrice(['status', group], { cwd });
    const paused = await readSummary(cwd, group);

    expect(ends.map(({ exitCode }) => exitCode).filter((code) => code === 3)).toHaveLength(3);
    expect(first.stderr).toContain(`thrice resume ${group} --budget-usd 48`);
    expect(billedUsd()).toBeLessThanOrEqual(CAP_USD);
    expect(paused?.spentUsd).toBeGreaterThanOrEqual(billedUsd());
    expect((paused?.spentUsd ?? 0) / CAP_USD).toBeGreaterThanOrEqual(0.97);
    expect(status.stdout).toContain(`${group}: paused at budget`);

    const resumed = await callThrice(['resume', group, '--budget-usd', '100', '--parallel', '64'], {
      cwd,
    });
    const verified = await callThrice(['verify', group], { cwd });

    expect(resumed.exitCode).toBe(0);
    expect(verified.exitCode).toBe(0);
    expect((await readSummary(cwd, group))?.spentUsd).toBeGreaterThanOrEqual(billedUsd());
  });
});

async function readSummary(cwd: string, group: string): Promise<BudgetSummary | undefined> {
  const text = await readFile(join(cwd, '.thrice/runs', group, 'summary.json'), 'utf8');
  return (JSON.parse(text) as Summary).budget;
}
