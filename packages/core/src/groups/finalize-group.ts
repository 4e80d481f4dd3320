import type { Benchmark } from '../domain/benchmark.ts';
import { type CellRow, cellRowSchema, hasScore } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import { readRows } from '../results/read-rows.ts';
import type { Summary } from '../results/summary.ts';
import { SummaryBuilder } from '../results/summary-builder.ts';
import { renderSummary } from '../results/summary-table.ts';
import { scorerVersions } from '../scorers/registry.ts';

const EXIT_COMPLETE = 0;
const EXIT_WITHOUT_SCORE = 1;

/** Exit codes of groups that ended early. */
export const earlyExitCodes = { paused: 2, interrupted: 130 } as const;

/** The stores finalization reads and writes. */
export interface FinalizeStores {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

/** Returns the key of a run's artifact; `docs/formats.md` describes the layout. */
export function runKey(group: string, run: string, name: string): string {
  return `runs/${group}/${run}/${name}`;
}

/** Returns the key of a group's artifact. */
export function groupKey(group: string, name: string): string {
  return `runs/${group}/${name}`;
}

/**
 * Writes everything a group publishes: rows, predictions, failures, manifests, summaries.
 *
 * Counts the records, not the tallies. Can be repeated: for an unchanged ledger it writes the same bytes,
 * except for `finishedAt` in the manifests. Memory use is one number per cell.
 *
 * @param endedWith - The exit code of a group that ended early (paused, interrupted), or a function that
 *   returns it after every row was read. Undefined if every task is done: the manifests then say 0, or 1
 *   if cells have no score.
 * @param onRow - Called with each row as it is written.
 */
export async function finalizeGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  endedWith: number | undefined | (() => number | undefined),
  stores: FinalizeStores,
  onRow: (row: CellRow) => void = () => undefined,
): Promise<Summary> {
  const group = new SummaryBuilder(header, benchmark.coverageFloor);
  const filesByRun = new Map<string, readonly ConfigFiles[]>();
  for (const run of header.runs) {
    const runSummary = new SummaryBuilder(header, benchmark.coverageFloor);
    const files: ConfigFiles[] = [];
    for (const config of benchmark.configs) {
      const key = runKey(header.group, run, `cells/${config.name}.jsonl`);
      if (!isPlanned(header, config.name)) continue;
      const rows = readRows(header, run, config, stores);
      await stores.blobs.write(
        key,
        serializeRows(rows, (row) => {
          runSummary.add(row);
          group.add(row);
          onRow(row);
        }),
      );
      files.push(await writeDerived(header, run, config.name, stores.blobs));
    }
    await writeJson(stores.blobs, runKey(header.group, run, 'summary.json'), runSummary.build());
    filesByRun.set(run, files);
  }
  const hasFailures = [...filesByRun.values()].flat().some(({ failedIds }) => failedIds.length > 0);
  const earlyExitCode = typeof endedWith === 'function' ? endedWith() : endedWith;
  const exitCode = earlyExitCode ?? finishedExitCode(hasFailures);
  for (const [run, files] of filesByRun) {
    await writeManifest({ header, run, files, exitCode }, stores);
  }
  const summary = group.build();
  await writeJson(stores.blobs, groupKey(header.group, 'group.json'), header);
  await writeJson(stores.blobs, groupKey(header.group, 'summary.json'), summary);
  await stores.blobs.write(groupKey(header.group, 'summary.md'), [renderSummary(summary, 'md')]);
  return summary;
}

function finishedExitCode(hasFailures: boolean): number {
  return hasFailures ? EXIT_WITHOUT_SCORE : EXIT_COMPLETE;
}

/**
 * Returns the exit codes that manifests may have for given records.
 *
 * The records do not say how a group ended early: an interruption may have come with the last cell, and a
 * pause leaves cells that were not attempted.
 */
export function possibleExitCodes(
  hasFailures: boolean,
  hasNotAttempted: boolean,
): readonly number[] {
  const { paused, interrupted } = earlyExitCodes;
  const early = hasNotAttempted ? [paused, interrupted] : [interrupted];
  return [finishedExitCode(hasFailures), ...early];
}

/** Whether a config has cells in this group. Skipped configs have none. */
export function isPlanned(header: GroupHeader, config: string): boolean {
  return header.configs.some((entry) => entry.config === config && entry.cells > 0);
}

async function* serializeRows(
  rows: AsyncIterable<CellRow>,
  observe: (row: CellRow) => void,
): AsyncIterable<string> {
  for await (const row of rows) {
    observe(row);
    yield `${JSON.stringify(row)}\n`;
  }
}

/** Reads the rows of a published cells file. */
export async function* readRowFile(blobs: BlobStore, key: string): AsyncGenerator<CellRow, void> {
  let lineNumber = 0;
  for await (const line of blobs.readLines(key)) {
    lineNumber += 1;
    yield parseRow(line, `${key}:${lineNumber}`);
  }
}

function parseRow(line: string, where: string): CellRow {
  try {
    return cellRowSchema.parse(JSON.parse(line));
  } catch (error) {
    throw new ThriceError({
      code: 'invalid-file',
      message: `${where}: expected a row of a cells file, received something else`,
      cause: error,
    });
  }
}

/** The facts about a config's files that a manifest lists. */
export interface ConfigFiles {
  readonly config: string;
  readonly predictions: number;
  readonly failedIds: readonly string[];
}

async function writeDerived(
  header: GroupHeader,
  run: string,
  config: string,
  blobs: BlobStore,
): Promise<ConfigFiles> {
  const cells = runKey(header.group, run, `cells/${config}.jsonl`);
  const failedIds: string[] = [];
  let predictions = 0;
  await blobs.write(
    runKey(header.group, run, `predictions_${config}.json`),
    jsonArray(readWrittenRows(blobs, cells), (row) => {
      const prediction = describePrediction(row);
      if (prediction !== undefined) predictions += 1;
      return prediction;
    }),
  );
  await blobs.write(
    runKey(header.group, run, `failures_${config}.json`),
    jsonArray(readWrittenRows(blobs, cells), (row) => {
      const failure = describeFailure(row);
      if (failure !== undefined) failedIds.push(row.id);
      return failure;
    }),
  );
  return { config, predictions, failedIds };
}

/** Returns a row's entry in `predictions_*.json`; undefined if the cell has no answer. */
export function describePrediction(row: CellRow): object | undefined {
  if (row.outcome === 'failed' || row.outcome === 'not-attempted') return undefined;
  if (!row.calls.some(({ discarded }) => discarded === null)) return undefined;
  return { id: row.id, answer_text: row.answer, answer_confidence: row.confidence };
}

/** Returns a row's entry in `failures_*.json`; undefined if the cell has a score. */
export function describeFailure(row: CellRow): object | undefined {
  if (hasScore(row.outcome)) return undefined;
  return {
    id: row.id,
    run_id: row.run,
    status: row.outcome,
    error: row.error?.message ?? row.reason,
    class: row.error?.class ?? null,
    attempts: row.attempts,
  };
}

/** Reads rows that this process has just written, without validating them again. */
async function* readWrittenRows(blobs: BlobStore, key: string): AsyncIterable<CellRow> {
  for await (const line of blobs.readLines(key)) yield JSON.parse(line) as CellRow;
}

async function* jsonArray(
  rows: AsyncIterable<CellRow>,
  describe: (row: CellRow) => object | undefined,
): AsyncIterable<string> {
  let isEmpty = true;
  for await (const row of rows) {
    const item = describe(row);
    if (item === undefined) continue;
    yield `${isEmpty ? '[\n' : ',\n'}  ${JSON.stringify(item)}`;
    isEmpty = false;
  }
  yield isEmpty ? '[]\n' : '\n]\n';
}

async function writeJson(blobs: BlobStore, key: string, document: object): Promise<void> {
  await blobs.write(key, [`${JSON.stringify(document, null, 2)}\n`]);
}

async function writeManifest(
  facts: Omit<ManifestFacts, 'finishedAt'>,
  { blobs, clock }: FinalizeStores,
): Promise<void> {
  const { header, run } = facts;
  const manifest = describeManifest({ ...facts, finishedAt: clock.toIso(clock.now()) });
  await writeJson(blobs, runKey(header.group, run, 'manifest.json'), manifest);
}

/** The input of a manifest. */
export interface ManifestFacts {
  readonly header: GroupHeader;
  readonly run: string;
  readonly files: readonly ConfigFiles[];
  readonly exitCode: number;
  readonly finishedAt: string;
}

/** Builds the `manifest.json` of a run. */
export function describeManifest({
  header,
  run,
  files,
  exitCode,
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
    priceTable: 'spec',
    scorerVersions,
    configs: header.configs.map((entry) => describeConfig(entry, files)),
    exitCode,
  };
}

function describeConfig(
  entry: GroupHeader['configs'][number],
  files: readonly ConfigFiles[],
): object {
  const written = files.find(({ config }) => config === entry.config);
  if (written === undefined) return { config: entry.config, status: entry.skipped ?? 'skipped' };
  return {
    config: entry.config,
    status: written.failedIds.length === 0 ? 'completed' : 'incomplete',
    num_predictions: written.predictions,
    failure_count: written.failedIds.length,
    failed_question_ids: written.failedIds,
    predictions_file: `predictions_${entry.config}.json`,
    failures_file: `failures_${entry.config}.json`,
  };
}
