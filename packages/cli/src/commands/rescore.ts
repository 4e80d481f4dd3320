import {
  rescoreGroup as addGrading,
  type BenchmarkSpec,
  checkQuestions,
  compareSpecs,
  cutList,
  type FinalizeStores,
  finalizeGroup,
  type GroupHeader,
  isPlanned,
  type LoadedGroup,
  type Regrading,
  renderChange,
  resolveBenchmark,
  type SpecChange,
  type SpecScorers,
  type Summary,
  ThriceError,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import { countSummary } from '../engine/count-summary.ts';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { refuseImported } from '../engine/refuse-imported.ts';
import { storedQuestions } from '../engine/stored-questions.ts';
import { alone } from '../local/alone.ts';
import { openExistingEngine, openPatterns } from '../local/compose-local.ts';
import { printSummary } from '../render/print-summary.ts';
import { reportRescoring } from '../render/report-rescoring.ts';
import { reportUnscored } from '../render/report-unscored.ts';
import type { ExitCode } from '../shell/exit-codes.ts';
import { folderFlag } from '../shell/place-flags.ts';
import { showPath } from '../shell/show-path.ts';
import type { Terminal } from '../shell/terminal.ts';
import { applyOverrides } from '../spec/apply-overrides.ts';
import { readSpecFile } from '../spec/read-spec-file.ts';

/** Options of `thrice rescore`. */
export interface RescoreOptions extends EngineOptions {
  readonly spec?: string;
  readonly json?: boolean;
}

/** `thrice rescore`: grades the recorded answers again, without a call; the earlier grades are kept beside. */
export async function rescoreGroup(
  terminal: Terminal,
  name: string,
  options: RescoreOptions,
): Promise<ExitCode> {
  if (options.stage !== undefined)
    return await rescoreInStage(terminal, name, options.stage, options);
  using engine = openExistingEngine(options.dir, terminal);
  using patterns = openPatterns();
  const { ledger, blobs, budgets, clock, folder } = engine;
  const place = showPath(folder, terminal);
  const group = await findGroup(ledger, name);
  refuseImported(group.header);
  const onRow = reportRescoring(group.header, terminal, clock);
  const stores = { ledger, blobs, budgets, clock, patterns, onRow };
  const { regrading, summary } = await alone('rescore', group.header, engine, async () => {
    const edited = await readScorers(group, options.spec, { terminal, stores });
    try {
      return {
        regrading: await addGrading(group, edited, stores),
        summary: await finalizeGroup(group, stores),
      };
    } catch (error) {
      terminal.error('the rescore is not complete; repeat the command to complete it');
      throw error;
    }
  });
  report({ group, regrading, summary, place }, terminal, options);
  return reportUnscored(summary, {
    terminal,
    header: group.header,
    place,
    flag: folderFlag(options.dir),
  });
}

async function rescoreInStage(
  terminal: Terminal,
  name: string,
  stage: string,
  options: RescoreOptions,
): Promise<ExitCode> {
  const { openStageEngine } = await import('../stage/stage-engine.ts');
  using engine = await openStageEngine(stage);
  const { place, flag } = engine;
  const group = await findGroup(engine.ledger, name, flag);
  const edited = await readScorers(group, options.spec, { terminal, stores: engine });
  const onRow = reportRescoring(group.header, terminal, engine.clock);
  const regrading = await addGrading(group, edited, { ...engine, onRow });
  // The stage writes the files. A writer that has not seen the new grading finds the group active again.
  await engine.activeGroups.add(group.header.group);
  await engine.publish(group.header.group);
  const summary = await countSummary(group, engine);
  report({ group, regrading, summary, place }, terminal, options);
  return reportUnscored(summary, { terminal, header: group.header, place, flag });
}

/**
 * Reads the scorers of an edited spec and checks the stored questions with them.
 *
 * @returns Undefined without a spec.
 * @throws {ThriceError} `spec-changed` when the spec differs in more than its scorers; `invalid-question` when
 *   a scorer cannot use a stored target.
 */
async function readScorers(
  { header }: LoadedGroup,
  file: string | undefined,
  {
    terminal,
    stores,
  }: { readonly terminal: Terminal; readonly stores: Pick<FinalizeStores, 'blobs'> },
): Promise<SpecScorers | undefined> {
  if (file === undefined) return undefined;
  const { spec: edited, source } = await readSpecFile(file, terminal.workingFolder);
  const spec = applyOverrides(edited, header.overrides);
  refuseChanges(file, header, compareSpecs(withoutScorers(header.spec), withoutScorers(spec)));
  const scorerOf = new Map(spec.configs.map(({ name, scorer }) => [name, scorer]));
  const configs = header.spec.configs.map((config) => ({
    ...config,
    scorer: scorerOf.get(config.name) ?? config.scorer,
  }));
  const benchmark = resolveBenchmark({ ...header.spec, scorers: spec.scorers, configs }, file);
  const planned = benchmark.configs.filter(({ name }) => isPlanned(header, name));
  const questions = { files: async () => [], read: () => storedQuestions(header, stores.blobs) };
  await checkQuestions(questions, undefined, planned, createNodeDigest);
  return {
    specSha256: source.sha256,
    scorers: new Map(benchmark.configs.map(({ name, scorer }) => [name, scorer])),
  };
}

function withoutScorers({ scorers: _scorers, configs, ...spec }: BenchmarkSpec): BenchmarkSpec {
  const answering = configs.map(({ scorer: _scorer, ...config }) => config);
  return { ...spec, scorers: {}, configs: answering };
}

function refuseChanges(file: string, header: GroupHeader, changes: readonly SpecChange[]): void {
  if (changes.length === 0) return;
  const lines = cutList(changes.map(renderChange)).map((change) => `${file}: ${change}`);
  throw new ThriceError({
    code: 'spec-changed',
    message: [
      ...lines,
      `expected no changes but in scorers since ${header.group} was planned; undo these; those that leave the questions asked as they were are taken into the group by: thrice resume ${header.group} --spec ${file}`,
    ].join('\n'),
  });
}

function report(
  {
    group: { header },
    regrading: { grading, isNew },
    summary,
    place,
  }: {
    readonly group: LoadedGroup;
    readonly regrading: Regrading;
    readonly summary: Summary;
    readonly place: string;
  },
  terminal: Terminal,
  { json }: RescoreOptions,
): void {
  const { group } = header;
  if (json === true) {
    terminal.print(JSON.stringify({ group, grading, isNew, summary }, null, 2));
  } else printSummary(summary, terminal);
  const { number } = grading;
  terminal.error(
    isNew
      ? `graded again: grading ${number}; the grades of grading ${number - 1} are in ${place}/runs/${group}/gradings/${number - 1}`
      : `grading ${number} has these scorers already; its files were written again`,
  );
  terminal.error(`results: ${place}/runs/${group}`);
}
