import { replayAnswer } from '../cells/replay-answer.ts';
import type { Benchmark, Config } from '../domain/benchmark.ts';
import { type CellRow, hasScore } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { SolverRegistry } from '../ports/solver.ts';
import { readQuestionRows } from '../results/read-rows.ts';
import type { Summary } from '../results/summary.ts';
import { SummaryBuilder } from '../results/summary-builder.ts';
import { renderSummary } from '../results/summary-table.ts';
import { type Grader, gradeAnswer } from '../scorers/grade-answer.ts';
import {
  type ConfigFiles,
  describeFailure,
  describeManifest,
  describePrediction,
  groupKey,
  isPlanned,
  possibleExitCodes,
  runKey,
} from './finalize-group.ts';
import { PublishedArray, PublishedFile } from './published-file.ts';

/** The maximum number of mismatches to report. */
const MAX_MISMATCHES = 50;

/** The result of {@link verifyGroup}. */
export interface Verification {
  readonly rows: number;
  /** Answers scored again from the journal. */
  readonly rescored: number;
  /** Figures compared in summaries and manifests. */
  readonly figures: number;
  /** One line per mismatch; empty if every published number agrees with its records. */
  readonly mismatches: readonly string[];
}

/** The stores {@link verifyGroup} reads. */
export interface VerifyStores extends Grader {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  /** @default the built-in solvers */
  readonly solvers?: SolverRegistry | undefined;
}

/**
 * Recomputes everything a group published and reports the differences.
 *
 * Scores each result in the ledger again from the recorded answer in the journal. Then recomputes every
 * published file from the ledger and compares it exactly: rows, predictions and failures line by line,
 * summaries and manifests figure by figure. Files are streamed, so memory use is one number per cell.
 */
export async function verifyGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: VerifyStores,
): Promise<Verification> {
  const check = new GroupCheck(header, benchmark, stores);
  return await check.run();
}

class GroupCheck {
  readonly #header: GroupHeader;
  readonly #benchmark: Benchmark;
  readonly #stores: VerifyStores;
  readonly #ledger: Ledger;
  readonly #blobs: BlobStore;
  readonly #mismatches: string[] = [];
  #rows = 0;
  #rescored = 0;
  #figures = 0;
  #hasNotAttempted = false;

  constructor(header: GroupHeader, benchmark: Benchmark, stores: VerifyStores) {
    this.#header = header;
    this.#benchmark = benchmark;
    this.#stores = stores;
    this.#ledger = stores.ledger;
    this.#blobs = stores.blobs;
  }

  async run(): Promise<Verification> {
    const { group, runs } = this.#header;
    const groupBuilder = this.#newBuilder();
    const filesByRun = new Map<string, readonly ConfigFiles[]>();
    for (const run of runs) {
      const runBuilder = this.#newBuilder();
      const files: ConfigFiles[] = [];
      for (const config of this.#benchmark.configs) {
        if (!isPlanned(this.#header, config.name)) continue;
        files.push(await this.#checkConfig(run, config, [runBuilder, groupBuilder]));
      }
      filesByRun.set(run, files);
      const key = runKey(group, run, 'summary.json');
      this.#compare(key, await this.#readJson(key), runBuilder.build());
    }
    await this.#checkManifests(filesByRun);
    await this.#checkGroupFiles(groupBuilder.build());
    return {
      rows: this.#rows,
      rescored: this.#rescored,
      figures: this.#figures,
      mismatches: this.#mismatches,
    };
  }

  #newBuilder(): SummaryBuilder {
    return new SummaryBuilder(this.#header, this.#benchmark.coverageFloor);
  }

  async #checkConfig(
    run: string,
    config: Config,
    builders: readonly SummaryBuilder[],
  ): Promise<ConfigFiles> {
    const keyOf = (name: string) => runKey(this.#header.group, run, name);
    const open = (name: string) =>
      new PublishedFile(this.#blobs, keyOf(name), (mismatch) => this.#report(mismatch));
    const cells = `cells/${config.name}.jsonl`;
    await using published = open(cells);
    await using predictions = new PublishedArray(open(`predictions_${config.name}.json`));
    await using failures = new PublishedArray(open(`failures_${config.name}.json`));
    const failedIds: string[] = [];
    let predictionCount = 0;
    for await (const { question, row } of readQuestionRows(
      this.#header,
      run,
      config,
      this.#stores,
    )) {
      this.#rows += 1;
      for (const builder of builders) builder.add(row);
      if (row.outcome === 'not-attempted') this.#hasNotAttempted = true;
      await this.#rescore(keyOf(cells), row, question, config);
      await this.#checkLine(keyOf(cells), published, row);
      const prediction = describePrediction(row);
      const failure = describeFailure(row);
      if (prediction !== undefined) predictionCount += 1;
      if (failure !== undefined) failedIds.push(row.id);
      await predictions.add(prediction);
      await failures.add(failure);
    }
    if ((await published.next()) !== undefined) {
      this.#report(`${keyOf(cells)}: more rows than questions`);
    }
    await predictions.end();
    await failures.end();
    return { config: config.name, predictions: predictionCount, failedIds };
  }

  /** Checks that scoring the recorded answer again gives the recorded score. */
  async #rescore(key: string, row: CellRow, question: Question, config: Config): Promise<void> {
    if (row.calls.length === 0) {
      if (hasScore(row.outcome)) this.#report(`${key}: ${row.id}: a score without a call`);
      return;
    }
    const journal = await this.#ledger.readJournal(row);
    if (row.calls.some(({ step }) => !journal.has(step))) {
      this.#report(`${key}: ${row.id}: its call is missing from the journal`);
      return;
    }
    // Paid, and never graded.
    if (row.outcome === 'failed') return;
    const answer = replayAnswer({ config, question, journal }, this.#stores.solvers);
    if (answer === undefined) {
      this.#report(`${key}: ${row.id}: the recorded calls give no answer`);
      return;
    }
    const grade = await gradeAnswer(config.scorer, question, answer, this.#stores);
    this.#rescored += 1;
    if (grade.outcome === row.outcome && grade.score === row.score && grade.answer === row.answer) {
      return;
    }
    this.#report(
      `${key}: ${row.id}: recorded ${row.outcome} ${row.score}, but the recorded answer gives ${grade.outcome} ${grade.score}`,
    );
  }

  async #checkLine(key: string, published: PublishedFile, row: CellRow): Promise<void> {
    if (published.isAtEnd) return;
    const line = await published.next();
    if (line === JSON.stringify(row)) return;
    if (line === undefined) {
      this.#report(`${key}: the row of ${row.id} is missing`);
      return;
    }
    const given = parseJson(line);
    if (typeof given !== 'object' || given === null) {
      this.#report(
        `${key}:${published.lineNumber}: expected the row of ${row.id}, received no JSON object`,
      );
      return;
    }
    const { id, config } = given as { readonly id?: unknown; readonly config?: unknown };
    if (id !== row.id || config !== row.config) {
      this.#report(
        `${key}: expected the row of ${row.id}, received ${String(config)}/${String(id)}`,
      );
      return;
    }
    this.#compareLeaves(`${key}: ${row.id}`, given, row);
  }

  async #checkManifests(filesByRun: ReadonlyMap<string, readonly ConfigFiles[]>): Promise<void> {
    const files = [...filesByRun.values()].flat();
    const hasFailures = files.some(({ failedIds }) => failedIds.length > 0);
    const exitCodes = possibleExitCodes(hasFailures, this.#hasNotAttempted);
    for (const [run, runFiles] of filesByRun) {
      const key = runKey(this.#header.group, run, 'manifest.json');
      const manifest = await this.#readJson(key);
      const { finishedAt, exitCode, scorerVersions } = (manifest ?? {}) as {
        readonly finishedAt?: unknown;
        readonly exitCode?: unknown;
        readonly scorerVersions?: unknown;
      };
      const expectedCode = exitCodes.find((code) => code === exitCode) ?? exitCodes[0] ?? 0;
      const recomputed = describeManifest({
        header: this.#header,
        run,
        files: runFiles,
        exitCode: expectedCode,
        finishedAt: typeof finishedAt === 'string' ? finishedAt : 'an instant',
      });
      // Scorer versions are those of the release that published the file; no record repeats them.
      this.#compare(key, manifest, { ...recomputed, scorerVersions });
    }
  }

  async #checkGroupFiles(summary: Summary): Promise<void> {
    const { group } = this.#header;
    for (const [name, recomputed] of [
      ['group.json', this.#header],
      ['summary.json', summary],
    ] as const) {
      const key = groupKey(group, name);
      this.#compare(key, await this.#readJson(key), recomputed);
    }
    const lines = renderSummary(summary, 'md').split('\n');
    if (lines.at(-1) === '') lines.pop();
    await using published = new PublishedFile(
      this.#blobs,
      groupKey(group, 'summary.md'),
      (mismatch) => this.#report(mismatch),
    );
    for (const line of [...lines, undefined]) await published.expect(line);
  }

  /** Returns undefined for a missing file and null for one that is not valid JSON. */
  async #readJson(key: string): Promise<unknown> {
    const text = await this.#blobs.readText(key);
    return text === undefined ? undefined : parseJson(text);
  }

  #compare(key: string, published: unknown, recomputed: object): void {
    if (published === undefined) this.#report(`${key}: missing`);
    else this.#figures += this.#compareLeaves(key, published, recomputed);
  }

  /** @returns The number of leaves compared. */
  #compareLeaves(where: string, given: unknown, recomputed: object): number {
    const published = flatten(given);
    const expected = flatten(JSON.parse(JSON.stringify(recomputed)));
    for (const [path, value] of expected) {
      if (published.get(path) === value) continue;
      this.#report(
        `${where}: ${path}: published ${published.get(path) ?? 'nothing'}, recomputed ${value}`,
      );
    }
    for (const path of published.keys()) {
      if (!expected.has(path)) {
        this.#report(`${where}: ${path}: published, but not part of the recomputed file`);
      }
    }
    return expected.size;
  }

  #report(mismatch: string): void {
    if (this.#mismatches.length < MAX_MISMATCHES) this.#mismatches.push(mismatch);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Maps the path of every leaf of a document to its JSON text. */
function flatten(
  value: unknown,
  path = '',
  leaves = new Map<string, string>(),
): Map<string, string> {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      flatten(inner, path === '' ? key : `${path}.${key}`, leaves);
    }
  } else leaves.set(path, JSON.stringify(value) ?? 'undefined');
  return leaves;
}
