import { type GroupHeader, resolveBenchmark, storePlan } from '@thrice/core';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { followGroup } from './follow-group.ts';
import { openLanes } from './open-lanes.ts';
import type { PreparedRun, RunOptions } from './prepare-run.ts';
import { openStageEngine, type StageEngine } from './stage-engine.ts';
import { refuseUnfitLanes, refuseUnknownLanes } from './stage-lanes.ts';
import { listenForStop } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';

/** `thrice run --stage`: stores a plan in a stage, asks it to begin, and follows it. */
export async function runOnStage(
  terminal: Terminal,
  stageName: string,
  options: RunOptions,
  { spec, source, checked, draft, skipped }: PreparedRun,
): Promise<ExitCode> {
  using engine = await openStageEngine(stageName);
  const benchmark = resolveBenchmark(spec, draft.specSource.path);
  refuseUnknownLanes([...benchmark.lanes.keys()], engine.stage);
  refuseUnfitLanes(benchmark);
  using signals = listenForStop();
  const plan = { benchmark, draft, source, checked, skipped, clock: engine.clock };
  const header = await storePlan(plan, engine);
  if (options.json === true) terminal.error(header.group);
  else terminal.print(header.group);
  await engine.watchlist.watch(header.group);
  await openLanes(header, engine);
  await engine.requests.askForTasks({ v: 1, group: header.group, kind: 'plan' });
  if (options.detach === true) {
    if (options.json === true) terminal.print(JSON.stringify({ group: header.group }));
    const watch = `thrice status ${header.group} --watch${engine.flag}`;
    terminal.error(`running in stage ${stageName}; watch it with: ${watch}`);
    return exitCodes.complete;
  }
  const isJson = options.json === true;
  return await followGroup({ terminal, engine, header, isJson, signal: signals.drain });
}

/**
 * Sets a group of a stage to work again: its lanes open, what has no result is sent.
 *
 * State first: it is active and watched before anything is asked for.
 *
 * @throws {ThriceError} `invalid-argument`, with nothing changed, for a lane that works on one machine only.
 */
export async function resumeOnStage(
  header: GroupHeader,
  isPlanned: boolean,
  engine: StageEngine,
): Promise<void> {
  const { group } = header;
  const { ledger, watchlist, requests } = engine;
  refuseUnfitLanes(resolveBenchmark(header.spec, header.specSource.path));
  await ledger.setGroupState(group, 'active');
  await watchlist.watch(group);
  await openLanes(header, engine);
  await requests.askForTasks({ v: 1, group, kind: isPlanned ? 'refill' : 'plan' });
  // What was parked is among the missing.
  for (const parked of await watchlist.listParked()) {
    if (parked.group === group) await watchlist.unpark(parked);
  }
}
