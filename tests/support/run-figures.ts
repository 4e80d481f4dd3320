import type { Summary } from '@thrice/core';
import type { ConfigSummary } from '../../packages/core/src/results/summary.ts';
import type { Outcome } from './run-thrice.ts';

/** Returns the figures of `summarize --json` that depend on the answers alone: no names, times or attempts. */
export async function figuresOf(summarized: Promise<Outcome>): Promise<readonly object[]> {
  const { stdout } = await summarized;
  return (JSON.parse(stdout) as Summary).configs.map(figuresOfConfig);
}

function figuresOfConfig({ config, replicates, averages, byTag }: ConfigSummary): object {
  const [first = {}] = replicates as readonly Record<string, unknown>[];
  const { run, latency, calls, wasteCalls, wasteUsd, unpricedCalls, knownSpendUsd, ...figures } =
    first;
  return { config, figures, averages, byTag };
}
