import type { Benchmark } from '../domain/benchmark.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { type BudgetAccount, isBudgetReached } from '../domain/budget.ts';
import type { Grading } from '../domain/grading.ts';
import type { GroupHeader, GroupState } from '../domain/group.ts';
import { countDone, countPlanned, type Tally } from '../domain/tally.ts';
import { ThriceError } from '../errors.ts';
import { mapBounded } from '../map-bounded.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { readAllTallies, repairTally } from '../reconcile/repair-tallies.ts';
import { type BudgetSummary, summarizeBudget } from '../results/budget-summary.ts';
import type { ReplicateSummary, Summary } from '../results/summary.ts';
import { renderSummary } from '../results/summary-table.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import { keysOf, type WrittenConfig } from './config-writer.ts';
import { currentGradedGroup, type FinalizeStores, type GradedGroup } from './graded-group.ts';
import { ResultWriter, type WrittenRows } from './result-writer.ts';

/** How work on a group ended before all of its cells were done. */
export type EarlyEnd = 'paused' | 'paused-at-budget' | 'interrupted';

/** The field `exitCode` of a manifest, by how the work on its group ended. */
const manifestExitCodes = {
  complete: 0,
  'without-score': 1,
  paused: 2,
  'paused-at-budget': 3,
  interrupted: 130,
} as const satisfies Readonly<Record<EarlyEnd | 'complete' | 'without-score', number>>;

/** The files of a group under one of its gradings, as written. */
export interface WrittenResults {
  readonly summary: Summary;
  /** Counted from the records. */
  readonly tallies: readonly Tally[];
}

/**
 * What the exit code in the manifests depends on: the state of the group and its records, or how the work on it ended.
 *
 * `earlyEnd` is that of work that ended early, or a function that returns it once every row was read. Undefined if every
 * task is done: the manifests then say whether cells have no score.
 */
export type EndedWith =
  | { readonly state: GroupState }
  | { readonly earlyEnd: EarlyEnd | undefined | (() => EarlyEnd | undefined) };

/**
 * Writes everything a group publishes under one of its gradings: rows, predictions, failures, manifests, summaries.
 *
 * Counts the records, not the tallies: a tally that is short would make a complete group look paused. Can be repeated:
 * for an unchanged ledger it writes the same bytes, except for `finishedAt` in the manifests.
 */
export async function writeResults(
  graded: GradedGroup,
  endedWith: EndedWith,
  stores: FinalizeStores,
): Promise<WrittenResults> {
  const writer = new ResultWriter({ graded, stores });
  await writer.writeRows();
  return await writeSummaries(graded, endedWith, writer.rows(), stores);
}

/**
 * Writes the files of a group under its current grading and repairs its tallies. A tally that changes meanwhile
 * is left alone: a worker is completing cells.
 *
 * @param endedWith - @default what the state and the records say
 * @returns The summary of the group.
 */
export async function finalizeGroup(
  group: Pick<LoadedGroup, 'header' | 'benchmark' | 'state'>,
  stores: FinalizeStores,
  endedWith: EndedWith = group,
): Promise<Summary> {
  const { ledger } = stores;
  const before = await readAllTallies(group.header, ledger);
  const graded = await currentGradedGroup(group, stores);
  const { summary, tallies } = await writeResults(graded, endedWith, stores);
  const after = await readAllTallies(group.header, ledger);
  for (const counted of tallies) await repairTally(counted, { before, after }, ledger);
  return summary;
}

/** Writes what follows from the rows of a group, once all of them are written: summaries and manifests. */
export async function writeSummaries(
  graded: GradedGroup,
  endedWith: EndedWith,
  { configs, summary: builder, tallies }: WrittenRows,
  stores: FinalizeStores,
): Promise<WrittenResults> {
  const { header, folder } = graded;
  const { blobs } = stores;
  const counted = builder.build();
  const accounts = (await stores.budgets?.readAccounts(header.group)) ?? [];
  const earlyEnd = earlyEndOf(endedWith, { header, tallies, accounts });
  const exitCode = manifestExitCodes[earlyEnd ?? finishedAs(counted)];
  for (const run of header.runs) {
    await writeJson(blobs, `${folder}/${run}/summary.json`, builder.build(run));
  }
  const budget = summarizeBudget(accounts);
  for (const run of header.runs) {
    const written = configs.filter((each) => each.run === run);
    const files = await mapBounded(written, 1, (each) => describeFiles(graded, each, blobs));
    await writeManifest(
      { graded, run, files, exitCode, budget, summary: builder.build(run) },
      stores,
    );
  }
  const summary: Summary = { ...counted, ...(budget && { budget }) };
  await writeJson(blobs, `${folder}/group.json`, header);
  await writeJson(blobs, `${folder}/summary.json`, summary);
  await blobs.write(`${folder}/summary.md`, [renderSummary(summary, 'md')]);
  return { summary, tallies };
}

/** Reads the ids of the failures back: those of millions of cells are not kept until the end. */
async function describeFiles(
  { folder }: GradedGroup,
  { run, config, predictions, failures }: WrittenConfig,
  blobs: BlobStore,
): Promise<ConfigFiles> {
  const failedIds: string[] = [];
  if (failures > 0) {
    const key = keysOf(`${folder}/${run}`, { name: config }).failures;
    for await (const line of blobs.readLines(key)) {
      if (line.startsWith('  ')) failedIds.push(parseFailedId(line, key));
    }
  }
  return { config, predictions, failedIds };
}

/** Parses a line with an item of `failures_*.json`. */
function parseFailedId(line: string, key: string): string {
  const item: unknown = JSON.parse(line.endsWith(',') ? line.slice(0, -1) : line);
  if (typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string')
    return item.id;
  throw new ThriceError({
    code: 'store-unusable',
    message: `${key}: expected a failure with an id; the file has been changed`,
  });
}

function earlyEndOf(
  endedWith: EndedWith,
  {
    header,
    tallies,
    accounts,
  }: {
    readonly header: GroupHeader;
    readonly tallies: readonly Tally[];
    readonly accounts: readonly BudgetAccount[];
  },
): EarlyEnd | undefined {
  if ('earlyEnd' in endedWith) {
    const { earlyEnd } = endedWith;
    return typeof earlyEnd === 'function' ? earlyEnd() : earlyEnd;
  }
  if (countDone(tallies) >= countPlanned(header)) return undefined;
  if (endedWith.state === 'cancelled') return 'interrupted';
  return accounts.some(isBudgetReached) ? 'paused-at-budget' : 'paused';
}

/** A cell that counts by a ruling lacks no score. */
function finishedAs({ configs }: Summary): 'complete' | 'without-score' {
  const isOpen = configs.some(({ unscored }) =>
    unscored.some(({ ruling }) => ruling === undefined),
  );
  return isOpen ? 'without-score' : 'complete';
}

/**
 * Returns the exit codes that manifests may have for given records.
 *
 * The records do not say how a group ended early: an interruption may have come with the last cell, and a
 * pause leaves cells that were not attempted, or answers that wait for their judge.
 */
export function possibleExitCodes(summary: Summary, hasUnfinished: boolean): readonly number[] {
  const early: readonly EarlyEnd[] = hasUnfinished
    ? ['paused', 'paused-at-budget', 'interrupted']
    : ['interrupted'];
  return [finishedAs(summary), ...early].map((end) => manifestExitCodes[end]);
}

/** The facts about a config's files that a manifest lists. */
export interface ConfigFiles {
  readonly config: string;
  readonly predictions: number;
  readonly failedIds: readonly string[];
}

async function writeJson(blobs: BlobStore, key: string, document: object): Promise<void> {
  await blobs.write(key, [`${JSON.stringify(document, null, 2)}\n`]);
}

async function writeManifest(
  facts: Omit<ManifestFacts, 'finishedAt'>,
  { blobs, clock }: FinalizeStores,
): Promise<void> {
  const { graded, run } = facts;
  const manifest = describeManifest({ ...facts, finishedAt: clock.toIso(clock.now()) });
  await writeJson(blobs, `${graded.folder}/${run}/manifest.json`, manifest);
}

/** The input of a manifest. */
export interface ManifestFacts {
  readonly graded: Pick<GradedGroup, 'header' | 'benchmark' | 'grading' | 'folder'>;
  readonly run: string;
  readonly files: readonly ConfigFiles[];
  /** That of the run. */
  readonly summary: Summary;
  readonly exitCode: number;
  /** As the group has left it; undefined without one. */
  readonly budget: BudgetSummary | undefined;
  readonly finishedAt: string;
}

/** Builds the `manifest.json` of a run. */
export function describeManifest({
  graded: { header, benchmark, grading },
  run,
  files,
  summary,
  exitCode,
  budget,
  finishedAt,
}: ManifestFacts): object {
  return {
    schemaVersion: 1,
    benchmark: header.benchmark,
    label: header.label,
    group: header.group,
    run,
    createdAt: header.createdAt,
    finishedAt,
    spec: header.spec,
    specPath: header.specSource.path,
    specSha256: header.specSource.sha256,
    questionsPath: header.questionSources.map(({ path }) => path),
    questionsCount: header.questions.count,
    questionsSha256: header.questions.sha256,
    commandLine: header.commandLine,
    toolVersion: header.toolVersion,
    commit: header.commit,
    keys: header.keys,
    priceTable: header.builtinPrices,
    scorerVersions: versionsOf(grading),
    grading,
    configs: header.configs.map((entry) => ({
      ...describeConfig(entry, files, summary),
      ...describeConfidence(benchmark, entry.config),
    })),
    ...(budget && { budget }),
    exitCode,
  };
}

function versionsOf({ configs }: Grading): Readonly<Record<string, number | null>> {
  return Object.fromEntries(configs.map(({ scorer, version }) => [scorer.kind, version]));
}

function describeConfig(
  entry: GroupHeader['configs'][number],
  files: readonly ConfigFiles[],
  { configs }: Summary,
): object {
  const written = files.find(({ config }) => config === entry.config);
  if (written === undefined) return { config: entry.config, status: entry.skipped ?? 'skipped' };
  const [spend] = configs.find(({ config }) => config === entry.config)?.replicates ?? [];
  return {
    config: entry.config,
    status: written.failedIds.length === 0 ? 'completed' : 'incomplete',
    num_predictions: written.predictions,
    failure_count: written.failedIds.length,
    failed_question_ids: written.failedIds,
    predictions_file: `predictions_${entry.config}.json`,
    failures_file: `failures_${entry.config}.json`,
    spend: spend === undefined ? null : describeSpend(spend),
  };
}

/** How each model was asked for its confidence; nothing for a config that does not ask. */
function describeConfidence({ configs }: Benchmark, name: string): object {
  const { roles = [] } = configs.find((config) => config.name === name) ?? {};
  const forms = roles.flatMap((role) =>
    role.confidence === undefined ? [] : [[modelRefOf(role), role.confidence] as const],
  );
  return forms.length === 0 ? {} : { confidence: Object.fromEntries(forms) };
}

function describeSpend(spend: ReplicateSummary): object {
  const { costUsd, overheadUsd, wasteUsd, knownSpendUsd, calls, wasteCalls, unpricedCalls } = spend;
  return { costUsd, overheadUsd, wasteUsd, knownSpendUsd, calls, wasteCalls, unpricedCalls };
}
