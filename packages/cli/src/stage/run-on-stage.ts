import { type GroupHeader, resolveBenchmark, storePlan } from '@thrice/core';
import { closeBreakers } from '../engine/close-breakers.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { PreparedRun, RunOptions } from '../spec/prepare-run.ts';
import { followGroup } from './follow-group.ts';
import { openStageEngine, type StageEngine } from './stage-engine.ts';
import { refuseUnfitLanes, refuseUnknownLanes } from './stage-lanes.ts';

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
  const plan = {
    benchmark,
    draft,
    source,
    checked,
    skipped,
    clock: engine.clock,
    random: Math.random,
  };
  const header = await storePlan(plan, engine);
  if (options.json === true) terminal.error(header.group);
  else terminal.print(header.group);
  if (signals.drain.aborted) return await leaveUnbegun(header, engine, terminal);
  await engine.activeGroups.add(header.group);
  // Others wait for the same lanes: a new group is no reason to try them before their reset.
  await closeBreakers(header, engine, { believesResets: true });
  await engine.requests.requestDispatch({ v: 1, group: header.group, kind: 'plan' });
  if (options.detach === true) {
    if (options.json === true) terminal.print(JSON.stringify({ group: header.group }));
    const watch = `thrice status ${header.group} --watch${engine.flag}`;
    terminal.error(`running in stage ${stageName}; watch it with: ${watch}`);
    return exitCodes.complete;
  }
  const isJson = options.json === true;
  return await followGroup({ terminal, engine, header, isJson, signal: signals.drain });
}

/** Ctrl-C came while the plan was stored: nothing was asked for, nothing is paid. */
async function leaveUnbegun(
  { group }: GroupHeader,
  { ledger, flag }: StageEngine,
  terminal: Terminal,
): Promise<ExitCode> {
  await ledger.setGroupState(group, 'cancelled');
  terminal.error(`interrupted before it began\nresume with: thrice resume ${group}${flag}`);
  return exitCodes.interrupted;
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
  engine: Pick<StageEngine, 'ledger' | 'activeGroups' | 'requests' | 'clock'>,
): Promise<void> {
  const { group } = header;
  const { ledger, activeGroups, requests } = engine;
  refuseUnfitLanes(resolveBenchmark(header.spec, header.specSource.path));
  await ledger.setGroupState(group, 'active');
  await activeGroups.add(group);
  await closeBreakers(header, engine);
  const deferred = (await activeGroups.listDeferred()).filter((entry) => entry.group === group);
  const closed = new Set((await ledger.listOpenBreakers()).map(({ breakerKey }) => breakerKey));
  await requests.requestDispatch({ v: 1, group, kind: isPlanned ? 'refill' : 'plan' });
  // What waits for a lane that is open is among the missing that were asked for; the rest goes on waiting.
  for (const entry of deferred)
    if (!closed.has(entry.breakerKey)) await activeGroups.removeDeferred(entry);
}
