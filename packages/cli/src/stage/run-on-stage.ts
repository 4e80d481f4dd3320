import { type GroupHeader, type LoadedGroup, storePlan } from '@thrice/core';
import { closeBreakers } from '../engine/close-breakers.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { PreparedRun, RunOptions } from '../spec/prepare-run.ts';
import { followGroup } from './follow-group.ts';
import { openStageEngine, type StageEngine } from './stage-engine.ts';
import { refuseUnfitLanes, refuseUnknownLanes } from './stage-lanes.ts';

/** `thrice run --stage`: stores a plan in a stage, requests its tasks, and follows the group. */
export async function runOnStage(
  terminal: Terminal,
  stageName: string,
  options: RunOptions,
  { benchmark, source, checked, draft, skipped }: PreparedRun,
): Promise<ExitCode> {
  using engine = await openStageEngine(stageName);
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
  if (signals.drain.aborted) return await cancelUnstarted(header, engine, terminal);
  await engine.activeGroups.add(header.group);
  // Other groups wait for the same lanes: a new group is no reason to call them before their reset.
  await closeBreakers(header, engine, { awaitsResets: true });
  await engine.requests.requestDispatch({ v: 1, group: header.group, kind: 'plan' });
  if (options.detach === true) {
    if (options.json === true) terminal.print(JSON.stringify({ group: header.group }));
    const watch = `thrice status ${header.group} --watch${engine.flag}`;
    terminal.error(`running in stage ${stageName}; watch it with: ${watch}`);
    return exitCodes.complete;
  }
  const isJson = options.json === true;
  const group = { header, benchmark };
  return await followGroup({ terminal, engine, group, isJson, signal: signals.drain });
}

/** Handles Ctrl-C during planning: no task has been requested and nothing paid. */
async function cancelUnstarted(
  { group }: GroupHeader,
  { ledger, flag }: StageEngine,
  terminal: Terminal,
): Promise<ExitCode> {
  await ledger.setGroupState(group, 'cancelled');
  terminal.error(`interrupted before it started\nresume with: thrice resume ${group}${flag}`);
  return exitCodes.interrupted;
}

/**
 * Resumes a group in a stage: closes its breakers and requests the tasks of cells without a result.
 *
 * The group is active, and on the list of active groups, before anything is requested.
 *
 * @throws {ThriceError} `invalid-argument`, with nothing changed, for a lane that works only locally.
 */
export async function resumeOnStage(
  { header, benchmark, isPlanned }: LoadedGroup,
  engine: Pick<StageEngine, 'ledger' | 'activeGroups' | 'requests' | 'clock'>,
): Promise<void> {
  const { group } = header;
  const { ledger, activeGroups, requests } = engine;
  refuseUnfitLanes(benchmark);
  await ledger.setGroupState(group, 'active');
  await activeGroups.add(group);
  await closeBreakers(header, engine);
  const deferred = (await activeGroups.listDeferred()).filter((entry) => entry.group === group);
  const blocked = new Set((await ledger.listOpenBreakers()).map(({ breakerKey }) => breakerKey));
  await requests.requestDispatch({ v: 1, group, kind: isPlanned ? 'refill' : 'plan' });
  // The request covers deferred cells whose lane is no longer blocked; the others keep waiting.
  for (const entry of deferred)
    if (!blocked.has(entry.breakerKey)) await activeGroups.removeDeferred(entry);
}
