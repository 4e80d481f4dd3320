import { spawn } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type GroupHeader, planGroup, resolveBenchmark } from '@thrice/core';
import { simulatedQuestions, startBundledSimulator } from '../bundled-simulator.ts';
import { carryOn, folderFlag } from '../carry-on.ts';
import { openEngine, openModels } from '../compose-local.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { type PreparedRun, prepareRun, type RunOptions } from '../prepare-run.ts';
import { listenForStop } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';

/** `thrice run`: checks everything, plans a group, works on it. Nothing is created before all is checked. */
export async function runBenchmark(
  terminal: Terminal,
  file: string,
  options: RunOptions,
): Promise<ExitCode> {
  const prepared = await prepareRun(terminal, file, options);
  if (options.stage === undefined) return await runHere(terminal, file, options, prepared);
  const { runOnStage } = await import('../run-on-stage.ts');
  return await runOnStage(terminal, options.stage, options, prepared);
}

async function runHere(
  terminal: Terminal,
  file: string,
  options: RunOptions,
  { spec, source, checked, draft, skipped, resolvePath }: PreparedRun,
): Promise<ExitCode> {
  await using simulator = await startBundledSimulator(
    spec,
    () => simulatedQuestions(source),
    resolvePath,
  );
  using engine = openEngine(options.dir, terminal);
  await using models = openModels(terminal);
  const benchmark = resolveBenchmark(spec, file, simulator?.url);
  using signals = listenForStop();
  const onCreated = ({ group }: GroupHeader) => {
    if (options.json === true) terminal.error(group);
    else terminal.print(group);
  };
  const header = await planGroup(
    { benchmark, draft, source, checked, skipped, clock: engine.clock, onCreated },
    { ledger: engine.ledger, blobs: engine.blobs, queueOf: (group) => engine.queueOf(group) },
  );
  if (options.detach === true) return detach(header.group, engine.folder, options.dir, terminal);
  return await carryOn({
    terminal,
    engine,
    header,
    benchmark,
    models,
    signals,
    folder: options.dir,
    isJson: options.json === true,
  });
}

function detach(group: string, folder: string, dir: string, terminal: Terminal): ExitCode {
  const log = `${folder}/runs/${group}.log`;
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, 'a');
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'resume', group, '--dir', folder], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  child.unref();
  terminal.error(
    `running in the background; watch it with: thrice status ${group} --watch${folderFlag({ folder: dir })}\nlog: ${log}`,
  );
  return exitCodes.complete;
}
