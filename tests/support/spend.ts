import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CellRow, Summary } from '@thrice/core';
import type { Simulator, SimulatorStats } from '@thrice/simulator';

/** USD per million tokens. A token costs whole dollars, so that sums in any order are equal. */
const prices = { input: 1_000_000, output: 2_000_000 } as const;

/** The lines of a spec that price the tokens of a model of lane `lab`. */
export function priceLines(model: string): string {
  return `[prices."lab/${model}"]\ninput = ${prices.input}\noutput = ${prices.output}\n`;
}

/** What the simulator billed, USD. */
export function billedUsd(simulator: Simulator): number {
  const { inputTokens, outputTokens } = simulator.stats().billed;
  return (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
}

/** What the published summary of a group in a data folder says was spent, USD; null if any of it is unknown. */
export async function publishedSpend(folder: string, group: string): Promise<number | null> {
  const file = join(folder, 'runs', group, 'summary.json');
  const { configs } = JSON.parse(await readFile(file, 'utf8')) as Summary;
  const amounts = configs.flatMap(({ replicates }) =>
    replicates.flatMap(({ costUsd, overheadUsd, wasteUsd }) => [
      costUsd ?? 0,
      overheadUsd,
      wasteUsd,
    ]),
  );
  return amounts.reduce<number | null>(
    (sum, amount) => (sum === null || amount === null ? null : sum + amount),
    0,
  );
}

/** Sums the calls in published rows whose tokens are known, as the simulator sums what it bills. */
export function recordedTokens(rows: readonly CellRow[]): SimulatorStats['billed'] {
  const known = rows.flatMap(({ calls }) => calls.filter((call) => call.inputTokens !== null));
  return {
    calls: known.length,
    inputTokens: known.reduce((sum, call) => sum + (call.inputTokens ?? 0), 0),
    outputTokens: known.reduce((sum, call) => sum + (call.outputTokens ?? 0), 0),
  };
}
