import {
  type CellFacts,
  type CellRow,
  type GroupHeader,
  loadGroup,
  type Pilot,
  readRows,
  storePlan,
  withSimulator,
} from '@thrice/core';
import type { LocalEngine } from '@thrice/local';
import { sum } from '../engine/sum.ts';
import { openEngine, openPatterns } from '../local/compose-local.ts';
import { runToCompletion } from '../local/run-to-completion.ts';
import { renderEstimate } from '../render/estimate-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';
import { simulatedQuestions, startBundledSimulator } from '../spec/bundled-simulator.ts';
import { estimateRun } from '../spec/estimate-run.ts';
import { type PreparedRun, prepareRun, type RunOptions } from '../spec/prepare-run.ts';

/** Options of `thrice estimate`. */
export interface EstimateOptions
  extends Pick<
    RunOptions,
    'configs' | 'limit' | 'parallel' | 'replicates' | 'skipMissingKeys' | 'dir' | 'json'
  > {
  /** Cells of each config to run and measure. */
  readonly pilot?: number;
}

/** `thrice estimate`: what a run of a spec will take, from its prompts or from a pilot, which is paid for. */
export async function estimateBenchmark(
  terminal: Terminal,
  file: string,
  { pilot: size, ...options }: EstimateOptions,
): Promise<ExitCode> {
  const prepared = await prepareRun(terminal, file, options);
  const pilot =
    size === undefined ? undefined : await runPilot(terminal, file, { ...options, size }, prepared);
  // How the pilot ended is told already.
  if (typeof pilot === 'number') return pilot;
  const estimate = {
    ...estimateRun(prepared, { pilot: pilot?.configs }),
    pilot: pilot?.described ?? null,
  };
  if (options.json === true) terminal.print(JSON.stringify(estimate, null, 2));
  else terminal.print(plainText(renderEstimate(estimate, terminal.printColumns)));
  return exitCodes.complete;
}

/** A pilot that was run. */
interface PilotRun {
  readonly configs: ReadonlyMap<string, Pilot>;
  readonly described: { readonly group: string; readonly cells: number };
}

/** Runs the first cells of each config as a group of their own, which stays. Returns how it ended if that was early. */
async function runPilot(
  terminal: Terminal,
  file: string,
  options: EstimateOptions & { readonly size: number },
  { benchmark: { name } }: PreparedRun,
): Promise<PilotRun | ExitCode> {
  const { size, limit = size, ...rest } = options;
  const pilotOptions = {
    ...rest,
    limit: Math.min(size, limit),
    replicates: 1,
    label: `${name.slice(0, 58)}-pilot`,
  };
  const prepared = await prepareRun(withoutWarnings(terminal), file, pilotOptions);
  const { spec, source, checked, draft, skipped, resolvePath } = prepared;
  await using simulator = await startBundledSimulator(
    spec,
    () => simulatedQuestions(source),
    resolvePath,
  );
  using engine = openEngine(options.dir, terminal);
  using signals = listenForStop();
  const benchmark = withSimulator(prepared.benchmark, simulator?.url);
  const { clock } = engine;
  const plan = { benchmark, draft, source, checked, skipped, clock, random: Math.random };
  const header = await storePlan(plan, engine);
  terminal.error(`pilot: ${header.group}`);
  const exitCode = await runToCompletion({
    terminal: { ...terminal, print: () => undefined },
    engine,
    header,
    isPlanned: false,
    benchmark,
    signals,
    folder: options.dir,
    isJson: false,
  });
  if (exitCode !== exitCodes.complete && exitCode !== exitCodes.withoutScore) return exitCode;
  const configs = await readPilot(header, checked.promptSizes, engine);
  const count = sum([...configs.values()].map(({ cells }) => cells.length));
  return { configs, described: { group: header.group, cells: count } };
}

/** They were shown for the whole plan. */
function withoutWarnings(terminal: Terminal): Terminal {
  return { ...terminal, error: () => undefined };
}

/** Reads what the cells of a pilot took; configs that made no call are left out. */
async function readPilot(
  header: GroupHeader,
  promptSizes: PreparedRun['checked']['promptSizes'],
  { ledger, blobs }: LocalEngine,
): Promise<ReadonlyMap<string, Pilot>> {
  const { benchmark } = loadGroup({ header, state: 'active', isPlanned: true });
  const configs = new Map<string, Pilot>();
  using patterns = openPatterns();
  for (const config of benchmark.configs) {
    const cells: CellFacts[] = [];
    for (const run of header.runs)
      for await (const row of readRows(header, run, config, { ledger, blobs, patterns }))
        cells.push(...toFacts(row));
    const [first, ...others] = cells;
    const prompts = promptSizes.get(config.name);
    if (first === undefined || prompts === undefined) continue;
    configs.set(config.name, { cells: [first, ...others], prompts });
  }
  return configs;
}

/** What a cell took; none for one without a call. */
function toFacts({ calls }: CellRow): readonly CellFacts[] {
  if (calls.length === 0) return [];
  const total = (pick: (call: CellRow['calls'][number]) => number | null) =>
    calls.reduce<number | null>((sum, call) => {
      const amount = pick(call);
      return sum === null || amount === null ? null : sum + amount;
    }, 0);
  return [
    {
      calls: calls.length,
      inputTokens: total(({ inputTokens }) => inputTokens),
      outputTokens: total(({ outputTokens }) => outputTokens),
      costUsd: total(({ costUsd }) => costUsd),
      seconds: calls.reduce((sum, { latencyMs }) => sum + latencyMs, 0) / 1_000,
    },
  ];
}
