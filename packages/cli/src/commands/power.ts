import {
  ASSUMED_SPREAD,
  countSharedQuestions,
  isPlanned,
  type LoadedGroup,
  measureSpread,
  type PowerPair,
  planPower,
  readConfigRows,
  readValues,
  type Summary,
  ThriceError,
  withCurrentGrading,
} from '@thrice/core';
import { countSummary } from '../engine/count-summary.ts';
import type { Engine } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { renderPower } from '../render/power-view.ts';
import { nameCommands } from '../shell/command-name.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { folderFlag } from '../shell/place-flags.ts';
import { quoteArgument } from '../shell/quote-argument.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';
import { type PreparedRun, prepareRun, type RunOptions } from '../spec/prepare-run.ts';

/** Options of `thrice power`. */
export interface PowerOptions
  extends Pick<RunOptions, 'configs' | 'limit' | 'replicates' | 'dir' | 'json'> {
  /** The group whose answers show how much scores vary. @default the newest of the benchmark */
  readonly pilot?: string;
}

/** `thrice power`: says what difference between its configs a run of a spec can tell, from an earlier group. */
export async function planBenchmark(
  terminal: Terminal,
  file: string,
  options: PowerOptions,
): Promise<ExitCode> {
  const prepared = await prepareRun(terminal, file, options);
  using engine = await openIfThere(options, terminal);
  const pilot = engine && (await findPilot(prepared, engine, options.pilot));
  const pairs = await describePairs(prepared, pilot && { group: pilot, engine });
  if (pairs.length === 0) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${file}: expected two configs to compare, received ${prepared.benchmark.configs.length}`,
    });
  }
  const { replicates } = prepared.benchmark;
  const power = {
    benchmark: prepared.benchmark.name,
    pilot: pilot?.header.group ?? null,
    pairs: planPower(pairs, replicates),
  };
  if (options.json === true) terminal.print(JSON.stringify(power, null, 2));
  else {
    const { commandName, printColumns } = terminal;
    const runPilot = `thrice run ${quoteArgument(file)} --limit 50${folderFlag(options.dir)}`;
    const text = renderPower(power, nameCommands(runPilot, commandName), printColumns);
    terminal.print(plainText(text));
  }
  return exitCodes.complete;
}

/** Without an earlier group there may be no folder of them. */
async function openIfThere(
  { dir, pilot }: PowerOptions,
  terminal: Terminal,
): Promise<Engine | undefined> {
  try {
    return await openEngine({ dir }, terminal);
  } catch (error) {
    if (pilot === undefined && error instanceof ThriceError && error.code === 'unknown-group')
      return undefined;
    throw error;
  }
}

async function findPilot(
  { benchmark: { name } }: PreparedRun,
  { ledger, flag }: Engine,
  pilot: string | undefined,
): Promise<LoadedGroup | undefined> {
  if (pilot !== undefined) return await findGroup(ledger, pilot, flag);
  const newest = (await ledger.listGroups(() => undefined)).find(
    ({ header }) => header.benchmark === name,
  );
  return newest && (await findGroup(ledger, newest.header.group, flag));
}

async function describePairs(
  { benchmark: { configs: all }, spec, source, skipped }: PreparedRun,
  pilot: { readonly group: LoadedGroup; readonly engine: Engine } | undefined,
): Promise<readonly PowerPair[]> {
  const configs = all.filter(({ name }) => !skipped.has(name));
  const known = pilot === undefined ? undefined : await readPilotConfigs(pilot);
  const pairs = configs.flatMap((a, index) => configs.slice(index + 1).map((b) => [a, b] as const));
  const shared = await countSharedQuestions(source, spec.select, pairs);
  return pairs.map(([{ name: a }, { name: b }], index): PowerPair => {
    const [first, second] = [known?.get(a), known?.get(b)];
    const spread = first && second && measureSpread(first.values, second.values);
    const costs = [first?.costUsd ?? null, second?.costUsd ?? null];
    return {
      ...{ a, b, questions: shared[index] ?? 0 },
      spread: spread ?? ASSUMED_SPREAD,
      costUsd: costs.includes(null) ? null : (costs[0] ?? 0) + (costs[1] ?? 0),
    };
  });
}

/** The scores of a config, and what an answer of its cost on average. */
interface PilotConfig {
  readonly values: Awaited<ReturnType<typeof readValues>>;
  readonly costUsd: number | null;
}

async function readPilotConfigs({
  group,
  engine,
}: {
  readonly group: LoadedGroup;
  readonly engine: Engine;
}): Promise<ReadonlyMap<string, PilotConfig>> {
  const { header, benchmark } = group;
  const graded = await withCurrentGrading(header, benchmark, engine.blobs);
  const summary = await countSummary(group, engine);
  const known = new Map<string, PilotConfig>();
  for (const config of graded.configs) {
    if (!isPlanned(header, config.name)) continue;
    const readRows = (runs: readonly string[]) => readConfigRows(header, runs, config, engine);
    const values = await readValues({ group, config, runs: header.runs, readRows });
    known.set(config.name, { values, costUsd: costPerAnswer(config.name, summary) });
  }
  return known;
}

function costPerAnswer(name: string, { configs }: Summary): number | null {
  const config = configs.find((each) => each.config === name);
  const perQuestion = config?.mean['costUsdPerQuestion'];
  return typeof perQuestion === 'number' ? perQuestion : null;
}
