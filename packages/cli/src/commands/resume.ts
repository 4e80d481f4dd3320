import type { LoadedGroup } from '@thrice/core';
import type { LocalEngine } from '@thrice/local';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openExistingEngine, openModels, openPatterns } from '../local/compose-local.ts';
import { prepareGroup } from '../local/prepare-group.ts';
import { runToCompletion } from '../local/run-to-completion.ts';
import type { ExitCode } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';

/** Options of `thrice resume`. */
export interface ResumeOptions extends EngineOptions {
  readonly parallel?: number;
  readonly json?: boolean;
}

/** `thrice resume`: resumes a group, or helps the processes that already work on it. */
export async function resumeGroup(
  terminal: Terminal,
  name: string,
  options: ResumeOptions,
): Promise<ExitCode> {
  if (options.stage !== undefined)
    return await resumeInStage(terminal, name, options.stage, options);
  using engine = openExistingEngine(options.dir, terminal);
  const group = await findGroup(engine.ledger, name);
  await engine.ledger.setGroupState(group.header.group, 'active');
  return await work(terminal, group, engine, options);
}

async function resumeInStage(
  terminal: Terminal,
  name: string,
  stage: string,
  options: ResumeOptions,
): Promise<ExitCode> {
  const { openStageEngine } = await import('../stage/stage-engine.ts');
  const { resumeOnStage } = await import('../stage/run-on-stage.ts');
  const { followGroup } = await import('../stage/follow-group.ts');
  using engine = await openStageEngine(stage);
  const group = await findGroup(engine.ledger, name, engine.flag);
  await resumeOnStage(group, engine);
  using signals = listenForStop();
  const isJson = options.json === true;
  return await followGroup({ terminal, engine, group, isJson, signal: signals.drain });
}

/** `thrice work`, started by `run --detach`: like `resume`, but a cancelled group stays cancelled. */
export async function workOnGroup(
  terminal: Terminal,
  name: string,
  options: ResumeOptions,
): Promise<ExitCode> {
  using engine = openExistingEngine(options.dir, terminal);
  return await work(terminal, await findGroup(engine.ledger, name), engine, options);
}

async function work(
  terminal: Terminal,
  group: LoadedGroup,
  engine: LocalEngine,
  options: ResumeOptions,
): Promise<ExitCode> {
  await using prepared = await prepareGroup(group, engine, options.parallel);
  await using models = openModels(terminal);
  using patterns = openPatterns();
  using signals = listenForStop();
  return await runToCompletion({
    terminal,
    engine,
    header: group.header,
    isPlanned: group.isPlanned,
    benchmark: prepared.benchmark,
    models,
    patterns,
    signals,
    folder: options.dir,
    isJson: options.json === true,
  });
}
