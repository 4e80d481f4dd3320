import {
  type GroupHeader,
  isCounted,
  planGroup,
  resolveBenchmark,
  type Summary,
  ThriceError,
} from '@thrice/core';
import { type CloudEngine, openStage } from './compose-cloud.ts';
import { countSummary } from './count-summary.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import type { PreparedRun, RunOptions } from './prepare-run.ts';
import { renderSummary } from './render/summary-table.ts';
import { listenForStop } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';

/** How often a running group's tallies are read, ms. */
const WATCH_MS = 2_000;

/** `thrice run --stage`: plans a group in the cloud and watches its functions work on it. */
export async function runOnStage(
  terminal: Terminal,
  stageName: string,
  options: RunOptions,
  { spec, source, checked, draft, skipped }: PreparedRun,
): Promise<ExitCode> {
  using engine = await openStage(stageName);
  const benchmark = resolveBenchmark(spec, draft.specSource.path);
  refuseUnknownLanes([...benchmark.lanes.keys()], engine);
  using signals = listenForStop();
  const { ledger, blobs, clock } = engine;
  const onCreated = ({ group }: GroupHeader) => {
    if (options.json === true) terminal.error(group);
    else terminal.print(group);
  };
  const header = await planGroup(
    { benchmark, draft, source, checked, skipped, clock, onCreated },
    { ledger, blobs, queueOf: () => engine.queue },
  );
  const watch = `thrice status ${header.group} --stage ${stageName} --watch`;
  if (options.detach === true) {
    terminal.error(`running in stage ${stageName}; watch it with: ${watch}`);
    return exitCodes.complete;
  }
  if (!(await watchGroup(header, engine, terminal, signals.drain))) {
    terminal.error(`the run goes on in stage ${stageName}; watch it with: ${watch}`);
    return exitCodes.interrupted;
  }
  const summary = await countSummary(header, engine);
  if (options.json === true) terminal.print(JSON.stringify(summary, null, 2));
  else terminal.print(renderSummary(summary, 'text'));
  terminal.error(`results: s3://${engine.stage.bucketName}/runs/${header.group}`);
  return hasAllVerdicts(summary) ? exitCodes.complete : exitCodes.withoutVerdict;
}

/** Lanes are queues there: one that was not deployed has none. */
function refuseUnknownLanes(lanes: readonly string[], { stage }: CloudEngine): void {
  const known = Object.keys(stage.laneQueueUrls);
  const unknown = lanes.find((lane) => !known.includes(lane));
  if (unknown === undefined) return;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `lane "${unknown}": expected one of stage ${stage.stage} (${known.join(', ')}); add it to stacks/lanes.ts and deploy`,
  });
}

/** Waits for the last cell; false if `stop` aborts first. */
async function watchGroup(
  header: GroupHeader,
  { ledger, clock }: CloudEngine,
  terminal: Terminal,
  stop: AbortSignal,
): Promise<boolean> {
  const cells = header.configs.reduce((sum, config) => sum + config.cells, 0) * header.runs.length;
  for (;;) {
    const tallies = (await Promise.all(header.runs.map((run) => ledger.readTallies(run)))).flat();
    const done = tallies.flatMap(({ counts }) => Object.values(counts));
    terminal.error(`${done.reduce((sum, count) => sum + count, 0)}/${cells} cells`);
    if (isCounted(header, tallies)) return true;
    if (stop.aborted) return false;
    await clock.sleep(WATCH_MS, stop);
  }
}

function hasAllVerdicts({ configs }: Summary): boolean {
  return configs.every(({ replicates }) =>
    replicates.every(
      ({ ungraded, failed, notAttempted }) => ungraded + failed + notAttempted === 0,
    ),
  );
}
