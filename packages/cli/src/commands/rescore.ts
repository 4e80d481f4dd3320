import {
  rescoreGroup as addGrading,
  type BenchmarkSpec,
  checkQuestions,
  compareSpecs,
  currentGrading,
  cutList,
  type EditOrigin,
  editGroup,
  type FinalizeStores,
  finalizeGroup,
  type GroupHeader,
  isPlanned,
  type LoadedGroup,
  loadGroup,
  type PlanEdit,
  type Regrading,
  readGradings,
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
import { reportEdit } from '../render/report-edit.ts';
import { reportRescoring } from '../render/report-rescoring.ts';
import { reportUnscored } from '../render/report-unscored.ts';
import type { ExitCode } from '../shell/exit-codes.ts';
import { folderFlag } from '../shell/place-flags.ts';
import { showPath } from '../shell/show-path.ts';
import type { Terminal } from '../shell/terminal.ts';
import { applyOverrides } from '../spec/apply-overrides.ts';
import { originOf } from '../spec/origin-of.ts';
import { prepareCorrection } from '../spec/prepare-correction.ts';
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
    const { scorers, correction } = await readEdited(group, options.spec, { terminal, stores });
    try {
      const corrected =
        correction === undefined
          ? undefined
          : await editGroup(correction, { ...stores, batches: engine.batches, ...withDigest });
      if (corrected === undefined)
        return await gradeAgain(group, scorers, originOf(group, terminal), stores);
      reportEdit(group.header, corrected, terminal);
      const edited = loadGroup({ ...group, header: corrected });
      return {
        regrading: await latestGrading(corrected, blobs),
        summary: await finalizeGroup(edited, stores),
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
  const { editOnStage } = await import('../stage/run-on-stage.ts');
  using engine = await openStageEngine(stage);
  const { place, flag } = engine;
  const found = await findGroup(engine.ledger, name, flag);
  const { scorers, correction } = await readEdited(found, options.spec, {
    terminal,
    stores: engine,
  });
  const onRow = reportRescoring(found.header, terminal, engine.clock);
  const group = correction === undefined ? found : await editOnStage(correction, engine);
  if (correction !== undefined) reportEdit(found.header, group.header, terminal);
  const regrading =
    correction === undefined
      ? await addGrading(group, scorers, originOf(group, terminal), { ...engine, onRow })
      : await latestGrading(group.header, engine.blobs);
  // The stage writes the files. A writer that has not seen the new grading finds the group active again.
  await engine.activeGroups.add(group.header.group);
  await engine.publish(group.header.group);
  const summary = await countSummary(group, engine);
  report({ group, regrading, summary, place }, terminal, options);
  return reportUnscored(summary, { terminal, header: group.header, place, flag });
}

async function gradeAgain(
  group: LoadedGroup,
  scorers: SpecScorers | undefined,
  origin: EditOrigin,
  stores: FinalizeStores,
): Promise<{ readonly regrading: Regrading; readonly summary: Summary }> {
  const { header, ...regrading } = await addGrading(group, scorers, origin, stores);
  return { regrading, summary: await finalizeGroup(loadGroup({ ...group, header }), stores) };
}

const withDigest = { createDigest: createNodeDigest };

/** The current grading of a group whose targets were corrected. */
async function latestGrading(
  header: GroupHeader,
  blobs: FinalizeStores['blobs'],
): Promise<Regrading> {
  return { grading: currentGrading(await readGradings(header, blobs)), isNew: true };
}

/** What a rescore grades with: other scorers alone, or corrected questions, whose edit has the scorers as well. */
interface Edited {
  readonly scorers?: SpecScorers;
  readonly correction?: PlanEdit;
}

/**
 * Reads the scorers and the targets of an edited spec, and checks the targets with the scorers.
 *
 * @returns Nothing without a spec.
 * @throws {ThriceError} `spec-changed` when the spec differs in more than its scorers and targets; `invalid-question`
 *   when a scorer cannot use a target.
 */
async function readEdited(
  group: LoadedGroup,
  file: string | undefined,
  {
    terminal,
    stores,
  }: { readonly terminal: Terminal; readonly stores: Pick<FinalizeStores, 'blobs'> },
): Promise<Edited> {
  const { header } = group;
  if (file === undefined) return {};
  const read = await readSpecFile(file, terminal.workingFolder);
  const spec = applyOverrides(read.spec, header.overrides);
  refuseChanges(file, header, compareSpecs(withoutScorers(header.spec), withoutScorers(spec)));
  const scorerOf = new Map(spec.configs.map(({ name, scorer }) => [name, scorer]));
  const configs = header.spec.configs.map((config) => ({
    ...config,
    scorer: scorerOf.get(config.name) ?? config.scorer,
  }));
  const benchmark = resolveBenchmark({ ...header.spec, scorers: spec.scorers, configs }, file);
  const correction = await prepareCorrection(group, { read, spec, benchmark }, terminal);
  if (correction !== undefined) return { correction };
  const planned = benchmark.configs.filter(({ name }) => isPlanned(header, name));
  const questions = { files: async () => [], read: () => storedQuestions(header, stores.blobs) };
  await checkQuestions(questions, undefined, planned, createNodeDigest);
  const scorers = new Map(benchmark.configs.map(({ name, scorer }) => [name, scorer]));
  const { prices } = benchmark;
  return { scorers: { specSha256: read.source.sha256, scorers, prices } };
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
      `expected no changes but in scorers and targets since ${header.group} was planned; undo these; those that leave the questions asked as they were are taken into the group by: thrice resume ${header.group} --spec ${file}`,
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
