import {
  type CopyCounts,
  copyGroup,
  countOf,
  finalizeGroup,
  type LoadedGroup,
  type UserCode,
} from '@thrice/core';
import { createNodeDigest, type LocalEngine } from '@thrice/local';
import { findGroup } from '../engine/find-group.ts';
import { hasCellsLeft } from '../engine/has-cells-left.ts';
import { openEngine, openUserCode } from '../local/compose-local.ts';
import { ProgressFile } from '../local/progress-file.ts';
import { type CopyOptions, printCounts, reportCopying } from '../render/copy-report.ts';
import { reportNext } from '../render/next-command.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { folderFlag, stageFlag } from '../shell/place-flags.ts';
import { showPath } from '../shell/show-path.ts';
import type { Terminal } from '../shell/terminal.ts';
import { refuseCopiedBudget } from '../stage/stage-budget.ts';
import { openStageEngine, type StageEngine } from '../stage/stage-engine.ts';

/** `thrice pull`: copies a group from a stage to this machine and writes its results here. */
export async function pullGroup(
  terminal: Terminal,
  name: string,
  options: CopyOptions,
): Promise<ExitCode> {
  using stage = await openStageEngine(options.stage);
  return await pullFrom(stage, terminal, { name, options });
}

/** Does the work of {@link pullGroup} on an open stage. */
export async function pullFrom(
  stage: Pick<StageEngine, 'ledger' | 'blobs'>,
  terminal: Terminal,
  { name, options }: { readonly name: string; readonly options: CopyOptions },
): Promise<ExitCode> {
  const group = await findGroup(stage.ledger, name);
  if (await hasCellsLeft(group.header, stage)) refuseCopiedBudget(group);
  using engine = openEngine(options.dir, terminal);
  using userCode = openUserCode(terminal);
  const counts = await copyHere(group, stage, engine, terminal);
  await finalize(group, counts, engine, userCode);
  printCounts(`pulled ${group.header.group} from stage ${options.stage}`, counts, {
    terminal,
    group: group.header.group,
    isJson: options.json === true,
  });
  reportPull(group, counts, { terminal, engine, options });
  return exitCodes.complete;
}

async function copyHere(
  group: LoadedGroup,
  from: Pick<StageEngine, 'ledger' | 'blobs'>,
  engine: LocalEngine,
  terminal: Terminal,
): Promise<CopyCounts> {
  const { header } = group;
  const { ledger, responseCache, blobs, clock } = engine;
  const queue = engine.queueOf(header.group);
  const counts = await copyGroup(group, {
    from,
    to: { ledger, responseCache, blobs, queue },
    near: blobs,
    createDigest: createNodeDigest,
    observe: reportCopying(header, terminal, clock),
  });
  // Cells completed elsewhere must leave the local queue.
  await queue.dropDone();
  return counts;
}

async function finalize(
  group: LoadedGroup,
  { targetLeft }: CopyCounts,
  engine: LocalEngine,
  userCode: UserCode,
): Promise<void> {
  const { ledger, blobs, clock } = engine;
  await using _progressFile = new ProgressFile(group.header, engine);
  const earlyEnd = targetLeft === 0 ? undefined : 'interrupted';
  await finalizeGroup(group, { ledger, blobs, clock, userCode }, { earlyEnd });
}

function reportPull(
  { header: { group }, state }: LoadedGroup,
  { heldElsewhere, sourceLeft, targetLeft }: CopyCounts,
  {
    terminal,
    engine,
    options: { stage, dir },
  }: {
    readonly terminal: Terminal;
    readonly engine: LocalEngine;
    readonly options: CopyOptions;
  },
): void {
  if (state === 'active' && sourceLeft > 0) {
    terminal.error(
      `still running in stage ${stage}: this is a snapshot; pull again for new results, or stop the group with: thrice cancel ${group}${stageFlag(stage)}`,
    );
  }
  if (heldElsewhere > 0) {
    terminal.error(
      `not copied: ${countOf(heldElsewhere, 'cell')} in flight on this machine; pull again once done here`,
    );
  }
  terminal.error(`results: ${showPath(engine.folder, terminal)}/runs/${group}`);
  const flag = folderFlag(dir);
  if (targetLeft > 0) {
    terminal.error(`${countOf(targetLeft, 'cell')} without a result on this machine`);
  }
  reportNext(`thrice ${targetLeft === 0 ? 'summarize' : 'resume'} ${group}${flag}`, terminal);
}
