import { readStoredQuestions } from '../cells/read-question.ts';
import { replayAnswer } from '../cells/replay-answer.ts';
import type { Benchmark, Config } from '../domain/benchmark.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { costsOf, isAnswer } from '../domain/call.ts';
import { type CellRow, cellRowSchema, hasScore } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { CreateDigest } from '../ports/digest.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { SolverRegistry } from '../ports/solver.ts';
import { priceUsage } from '../pricing/price-usage.ts';
import { readQuestionRows } from '../results/read-rows.ts';
import type { Summary } from '../results/summary.ts';
import { SummaryBuilder } from '../results/summary-builder.ts';
import { renderSummary } from '../results/summary-table.ts';
import { type Grader, gradeAnswer } from '../scorers/grade-answer.ts';
import { scorerRegistry } from '../scorers/registry.ts';
import { createSelector } from '../spec/questions/select-questions.ts';
import {
  type ConfigFiles,
  describeFailure,
  describeManifest,
  describePrediction,
  type Edition,
  editionOf,
  isPlanned,
  possibleExitCodes,
} from './finalize-group.ts';
import {
  currentGrading,
  describePlanned,
  type Gradings,
  gradingsKey,
  readGradings,
} from './gradings.ts';
import { PublishedArray, PublishedFile } from './published-file.ts';

/** The maximum number of mismatches to report. */
const MAX_MISMATCHES = 50;
/**
 * How much longer a pattern may take here than when the answer was graded. An answer that was left ungraded
 * for a timeout gets as much less time: if it is graded even then, it was not a timeout.
 */
const PATTERN_LIMIT_RATIO = 10;

/** The result of {@link verifyGroup}. */
export interface Verification {
  /** Gradings verified: the current one and each earlier one. */
  readonly gradings: number;
  /** Rows of all gradings. */
  readonly rows: number;
  /** Answers graded again. */
  readonly rescored: number;
  /** Figures compared in summaries and manifests. */
  readonly figures: number;
  /** Whether the rows were also compared with the ledger and its journal. */
  readonly isJournalCompared: boolean;
  /** Configs whose grades could not be made again, with the reason. */
  readonly notRescored: readonly string[];
  /** One line per mismatch; empty if every published number agrees with its records. */
  readonly mismatches: readonly string[];
}

/** The stores {@link verifyGroup} reads. */
export interface VerifyStores extends Grader {
  /** Undefined where only the published files are at hand. */
  readonly ledger?: Ledger | undefined;
  readonly blobs: BlobStore;
  readonly createDigest: CreateDigest;
  /** @default the built-in solvers */
  readonly solvers?: SolverRegistry | undefined;
}

/**
 * Recomputes everything a group published and reports the differences.
 *
 * Of every grading, each answer is graded again, each cost is computed again from tokens and price, and every
 * file is recomputed from the rows and compared exactly: predictions and failures line by line, summaries and
 * manifests figure by figure. With a ledger, the current rows are those of the ledger, and the calls and the
 * answer of each row are compared with the journal. Without one, the published rows are believed as far as
 * their answers, tokens and questions bear them out. Files are streamed, so memory use is one number per cell.
 */
export async function verifyGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: VerifyStores,
): Promise<Verification> {
  const report = new Report();
  const isJournalCompared = stores.ledger !== undefined;
  const gradings = await readGradings(header, benchmark, stores.blobs);
  checkGradings(header, benchmark, gradings, report);
  // Everything else depends on the questions.
  if (await checkQuestionFile(header, stores, report)) {
    for (const { number } of gradings) {
      const edition = editionOf(header, benchmark, gradings, number);
      const isCurrent = number === currentGrading(gradings).number;
      await new EditionCheck({ edition, isCurrent, stores, report }).run();
    }
  }
  report.addTimeouts();
  const { rows, rescored, figures, notRescored, mismatches } = report;
  return {
    gradings: gradings.length,
    rows,
    rescored,
    figures,
    isJournalCompared,
    notRescored,
    mismatches,
  };
}

/** What became of the recorded timeouts of a scorer. */
interface Timeouts {
  /** Timeouts that occurred again. */
  count: number;
  /** Mismatches of answers that are graded in time here: their pattern may have been given up before them. */
  readonly others: string[];
}

/** What was found so far. */
class Report {
  rows = 0;
  rescored = 0;
  figures = 0;
  readonly notRescored: string[] = [];
  readonly mismatches: string[] = [];
  readonly #timeouts = new Map<string, Timeouts>();

  /** The timeouts of a config's scorer, over all runs and gradings. */
  timeoutsOf({ scorer }: Config): Timeouts {
    const name = JSON.stringify(scorer);
    const timeouts = this.#timeouts.get(name) ?? { count: 0, others: [] };
    this.#timeouts.set(name, timeouts);
    return timeouts;
  }

  /** Reports the recorded timeouts that were none, unless the pattern was given up. */
  addTimeouts(): void {
    for (const { count, others } of this.#timeouts.values()) {
      if (count >= limits.patternTimeouts) continue;
      for (const mismatch of others) this.add(mismatch);
    }
  }

  add(mismatch: string): void {
    if (this.mismatches.length < MAX_MISMATCHES) this.mismatches.push(mismatch);
  }

  /** @returns The number of leaves compared. */
  compareLeaves(where: string, given: unknown, recomputed: object, source = 'recomputed'): number {
    // Most rows are equal, and a comparison leaf by leaf takes far longer than their text.
    if (JSON.stringify(given) === JSON.stringify(recomputed)) return countLeaves(recomputed);
    const published = flatten(given);
    const expected = flatten(JSON.parse(JSON.stringify(recomputed)));
    for (const [path, value] of expected) {
      if (published.get(path) === value) continue;
      this.add(
        `${where}: ${path}: published ${published.get(path) ?? 'nothing'}, ${source} ${value}`,
      );
    }
    for (const path of published.keys()) {
      if (!expected.has(path)) {
        this.add(`${where}: ${path}: published, but not part of the recomputed file`);
      }
    }
    return expected.size;
  }
}

/** Checks that the gradings start with the plan's and are numbered in order. */
function checkGradings(
  header: GroupHeader,
  benchmark: Benchmark,
  gradings: Gradings,
  report: Report,
): void {
  const key = gradingsKey(header.group);
  const [first, ...others] = gradings;
  report.compareLeaves(`${key}: grading 1`, first, describePlanned(header, benchmark), 'planned');
  for (const [index, { number }] of others.entries()) {
    if (number === index + 2) continue;
    report.add(`${key}: expected grading ${index + 2}, received grading ${number}`);
  }
}

/** @returns Whether the stored questions are those of the plan. */
async function checkQuestionFile(
  { questions: { key, sha256 } }: GroupHeader,
  { blobs, createDigest }: VerifyStores,
  report: Report,
): Promise<boolean> {
  const digest = createDigest();
  for await (const line of blobs.readLines(key)) digest.update(`${line}\n`);
  const received = digest.hex();
  if (received !== sha256) report.add(`${key}: expected sha256 ${sha256}, received ${received}`);
  return received === sha256;
}

/** Checks the files of one grading. */
class EditionCheck {
  readonly #edition: Edition;
  /** Whether its rows are to be those of the ledger. An earlier edition shows what there was at its time. */
  readonly #isCurrent: boolean;
  readonly #stores: VerifyStores;
  readonly #report: Report;
  readonly #notRescored: ReadonlySet<string>;
  #hasNotAttempted = false;

  constructor(init: {
    readonly edition: Edition;
    readonly isCurrent: boolean;
    readonly stores: VerifyStores;
    readonly report: Report;
  }) {
    this.#edition = init.edition;
    this.#isCurrent = init.isCurrent;
    this.#stores = init.stores;
    this.#report = init.report;
    const unknown = describeOtherVersions(init.edition, init.stores);
    this.#notRescored = new Set(unknown.keys());
    init.report.notRescored.push(...unknown.values());
  }

  async run(): Promise<void> {
    const { header, benchmark } = this.#edition;
    const groupBuilder = this.#newBuilder();
    const filesByRun = new Map<string, readonly ConfigFiles[]>();
    for (const run of header.runs) {
      const runBuilder = this.#newBuilder();
      const files: ConfigFiles[] = [];
      for (const config of benchmark.configs) {
        if (!isPlanned(header, config.name)) continue;
        files.push(await this.#checkConfig(run, config, [runBuilder, groupBuilder]));
      }
      filesByRun.set(run, files);
      const key = this.#keyOf(run, 'summary.json');
      this.#compare(key, await this.#readJson(key), runBuilder.build());
    }
    await this.#checkManifests(filesByRun);
    await this.#checkGroupFiles(groupBuilder.build());
  }

  #newBuilder(): SummaryBuilder {
    return new SummaryBuilder(this.#edition.header, this.#edition.benchmark.coverageFloor);
  }

  #keyOf(...names: readonly string[]): string {
    return [this.#edition.folder, ...names].join('/');
  }

  #open(key: string): PublishedFile {
    return new PublishedFile(this.#stores.blobs, key, (mismatch) => this.#report.add(mismatch));
  }

  async #checkConfig(
    run: string,
    config: Config,
    builders: readonly SummaryBuilder[],
  ): Promise<ConfigFiles> {
    const cells = this.#keyOf(run, `cells/${config.name}.jsonl`);
    const open = (name: string) => this.#open(this.#keyOf(run, name));
    await using published = this.#open(cells);
    await using predictions = new PublishedArray(open(`predictions_${config.name}.json`));
    await using failures = new PublishedArray(open(`failures_${config.name}.json`));
    const failedIds: string[] = [];
    let predictionCount = 0;
    for await (const { question, row } of this.#rowsOf(run, config, published)) {
      this.#report.rows += 1;
      for (const builder of builders) builder.add(row);
      if (row.outcome === 'not-attempted') this.#hasNotAttempted = true;
      await this.#checkRow(`${cells}: ${row.id}`, row, question, config);
      const prediction = describePrediction(row);
      const failure = describeFailure(row);
      if (prediction !== undefined) predictionCount += 1;
      if (failure !== undefined) failedIds.push(row.id);
      await predictions.add(prediction);
      await failures.add(failure);
    }
    if (!published.isAtEnd && (await published.next()) !== undefined) {
      this.#report.add(`${cells}: more rows than questions`);
    }
    await predictions.end();
    await failures.end();
    return { config: config.name, predictions: predictionCount, failedIds };
  }

  /** The rows to compute from: the ledger's, compared with the published ones, or the published ones. */
  async *#rowsOf(
    run: string,
    config: Config,
    published: PublishedFile,
  ): AsyncIterable<{ readonly question: Question; readonly row: CellRow }> {
    const { header } = this.#edition;
    const { ledger } = this.#stores;
    const key = this.#keyOf(run, `cells/${config.name}.jsonl`);
    if (ledger !== undefined && this.#isCurrent) {
      const stores = { ...this.#stores, ledger };
      for await (const { question, row } of readQuestionRows(header, run, config, stores)) {
        await this.#checkLine(key, published, row);
        yield { question, row };
      }
      return;
    }
    const includes = createSelector(config.select);
    for await (const { question } of readStoredQuestions(header, this.#stores.blobs)) {
      if (!includes(question)) continue;
      const row = await this.#readRow(key, published, { run, question, config });
      if (row !== undefined) yield { question, row };
    }
  }

  /** Reads the next published row; undefined, with a mismatch, if it is not the one of the question. */
  async #readRow(
    key: string,
    published: PublishedFile,
    cell: { readonly run: string; readonly question: Question; readonly config: Config },
  ): Promise<CellRow | undefined> {
    const given = await this.#readLine(key, published, {
      id: cell.question.id,
      config: cell.config.name,
    });
    if (given === undefined) return undefined;
    const parsed = cellRowSchema.safeParse(given);
    if (!parsed.success) {
      this.#report.add(
        `${key}:${published.lineNumber}: expected a row of a cells file, received something else`,
      );
      return undefined;
    }
    const { run, target, tags } = parsed.data;
    const { question } = cell;
    const expected = { run: cell.run, target: question.target, tags: question.tags };
    this.#report.compareLeaves(`${key}: ${question.id}`, { run, target, tags }, expected);
    return parsed.data;
  }

  async #checkLine(key: string, published: PublishedFile, row: CellRow): Promise<void> {
    const given = await this.#readLine(key, published, row, JSON.stringify(row));
    if (given !== undefined) this.#report.compareLeaves(`${key}: ${row.id}`, given, row);
  }

  /**
   * Reads the next published line.
   *
   * @param expectedLine - A line that needs no closer look.
   * @returns Undefined for the expected line, and, with a mismatch, for one that is not the row of the cell.
   */
  async #readLine(
    key: string,
    published: PublishedFile,
    cell: { readonly id: string; readonly config: string },
    expectedLine?: string,
  ): Promise<object | undefined> {
    if (published.isAtEnd) return undefined;
    const line = await published.next();
    if (line !== undefined && line === expectedLine) return undefined;
    if (line === undefined) {
      this.#report.add(`${key}: the row of ${cell.id} is missing`);
      return undefined;
    }
    const given = parseJson(line);
    if (typeof given !== 'object' || given === null) {
      this.#report.add(
        `${key}:${published.lineNumber}: expected the row of ${cell.id}, received no JSON object`,
      );
      return undefined;
    }
    const { id, config } = given as { readonly id?: unknown; readonly config?: unknown };
    if (id === cell.id && config === cell.config) return given;
    this.#report.add(
      `${key}: expected the row of ${cell.id}, received ${String(config)}/${String(id)}`,
    );
    return undefined;
  }

  async #checkRow(where: string, row: CellRow, question: Question, config: Config): Promise<void> {
    const answers = row.calls.filter(isAnswer);
    if (answers.length === 0 && hasScore(row.outcome)) {
      this.#report.add(`${where}: a score without a call`);
      return;
    }
    this.#checkCosts(where, row);
    this.#checkCalls(where, row);
    if (this.#stores.ledger !== undefined && answers.length > 0) {
      const isRecorded = await this.#checkJournal({ where, row, question, config });
      if (!isRecorded) return;
    }
    await this.#checkGrade(where, row, question, config);
  }

  /** Checks that the tokens of each call, at the spec's price, give its cost, and the calls the cell's. */
  #checkCosts(where: string, row: CellRow): void {
    const { prices } = this.#edition.benchmark;
    for (const [index, call] of row.calls.entries()) {
      const costUsd = priceUsage(prices.get(modelRefOf(call)), call);
      if (costUsd === call.costUsd) continue;
      this.#report.add(
        `${where}: calls.${index}.costUsd: published ${call.costUsd}, but its tokens cost ${costUsd}`,
      );
    }
    const { costUsd, wasteUsd } = row;
    this.#report.compareLeaves(where, { costUsd, wasteUsd }, costsOf(row.calls), 'its calls give');
  }

  /** Checks what follows from the outcome and the calls of a row without a look at its answer. */
  #checkCalls(where: string, row: CellRow): void {
    const { outcome, error, latencyMs, startedAt, finishedAt, attempts } = row;
    if (outcome === 'not-attempted') {
      const given = { latencyMs, startedAt, finishedAt };
      const unknown = { latencyMs: null, startedAt: null, finishedAt: null };
      this.#report.compareLeaves(where, given, unknown, 'a cell without a result has');
      return;
    }
    if (outcome === 'failed') {
      this.#report.compareLeaves(where, { latencyMs }, { latencyMs: null }, 'a failed cell has');
      if (error === null) this.#report.add(`${where}: a failed cell without an error`);
      return;
    }
    const answers = row.calls.filter(isAnswer);
    const first = answers[0]?.startedAt ?? startedAt;
    const totalMs = answers.reduce((sum, call) => sum + call.latencyMs, 0);
    const derived = { error: null, latencyMs: totalMs, startedAt: first };
    this.#report.compareLeaves(where, { error, latencyMs, startedAt }, derived, 'its calls give');
    if (finishedAt === null) this.#report.add(`${where}: an answered cell without a finish`);
    if (attempts < answers.length) {
      this.#report.add(
        `${where}: ${attempts} attempts, but ${answers.length} calls gave an answer`,
      );
    }
  }

  /** Checks that a row has the calls and the answer of the journal. */
  async #checkJournal({
    where,
    row,
    question,
    config,
  }: {
    readonly where: string;
    readonly row: CellRow;
    readonly question: Question;
    readonly config: Config;
  }): Promise<boolean> {
    const { ledger, solvers } = this.#stores;
    const journal = (await ledger?.readJournal(row)) ?? new Map<string, never>();
    const answers = row.calls.filter(isAnswer);
    if (answers.some(({ step }) => !journal.has(step))) {
      this.#report.add(`${where}: its call is missing from the journal`);
      return false;
    }
    const calls = answers.map((call) => {
      // Whether the journal answered is a fact of the delivery that completed the cell, not of the call.
      const { replayed } = call;
      return { ...(journal.get(call.step)?.call ?? call), replayed };
    });
    this.#report.compareLeaves(where, { calls: answers }, { calls }, 'the journal has');
    // Paid, and never graded.
    if (row.outcome === 'failed' || row.outcome === 'not-attempted') return true;
    const answer = replayAnswer({ config, question, journal }, solvers);
    if (answer === undefined) {
      this.#report.add(`${where}: the recorded calls give no answer`);
      return false;
    }
    const { output, refusal, finishReason, hasReasoning } = row;
    const given = { output, refusal, finishReason, hasReasoning };
    this.#report.compareLeaves(where, given, answer, 'the journal has');
    return true;
  }

  /** Checks that grading the recorded answer again gives the recorded grade. */
  async #checkGrade(
    where: string,
    row: CellRow,
    question: Question,
    config: Config,
  ): Promise<void> {
    if (row.outcome === 'failed' || row.outcome === 'not-attempted') {
      const { score, answer, output } = row;
      this.#report.compareLeaves(
        where,
        { score, answer, output },
        { score: null, answer: null, output: null },
      );
      return;
    }
    if (this.#notRescored.has(config.name)) return;
    const timeouts = this.#report.timeoutsOf(config);
    // Given up: the pattern was not run on the rest.
    if (row.reason === 'scorer-timeout' && timeouts.count >= limits.patternTimeouts) return;
    const ratio = row.reason === 'scorer-timeout' ? 1 / PATTERN_LIMIT_RATIO : PATTERN_LIMIT_RATIO;
    const grade = await gradeAnswer(config.scorer, question, row, {
      ...this.#stores,
      patternLimitMs: limits.patternMs * ratio,
    });
    this.#report.rescored += 1;
    const { outcome, score, answer, reason } = row;
    const isSame =
      grade.outcome === outcome &&
      grade.score === score &&
      grade.answer === answer &&
      grade.reason === reason;
    const mismatch = `${where}: recorded ${describeGrade(row)}, but the recorded answer gives ${describeGrade(grade)}`;
    if (reason !== 'scorer-timeout') {
      if (!isSame) this.#report.add(mismatch);
    } else if (isSame) timeouts.count += 1;
    else timeouts.others.push(mismatch);
  }

  async #checkManifests(filesByRun: ReadonlyMap<string, readonly ConfigFiles[]>): Promise<void> {
    const files = [...filesByRun.values()].flat();
    const hasFailures = files.some(({ failedIds }) => failedIds.length > 0);
    const exitCodes = possibleExitCodes(hasFailures, this.#hasNotAttempted);
    for (const [run, runFiles] of filesByRun) {
      const key = this.#keyOf(run, 'manifest.json');
      const manifest = await this.#readJson(key);
      const { finishedAt, exitCode } = (manifest ?? {}) as {
        readonly finishedAt?: unknown;
        readonly exitCode?: unknown;
      };
      const expectedCode = exitCodes.find((code) => code === exitCode) ?? exitCodes[0] ?? 0;
      const recomputed = describeManifest({
        edition: this.#edition,
        run,
        files: runFiles,
        exitCode: expectedCode,
        finishedAt: typeof finishedAt === 'string' ? finishedAt : 'an instant',
      });
      this.#compare(key, manifest, recomputed);
    }
  }

  async #checkGroupFiles(summary: Summary): Promise<void> {
    for (const [name, recomputed] of [
      ['group.json', this.#edition.header],
      ['summary.json', summary],
    ] as const) {
      const key = this.#keyOf(name);
      this.#compare(key, await this.#readJson(key), recomputed);
    }
    const lines = renderSummary(summary, 'md').split('\n');
    if (lines.at(-1) === '') lines.pop();
    await using published = this.#open(this.#keyOf('summary.md'));
    for (const line of [...lines, undefined]) await published.expect(line);
  }

  /** Returns undefined for a missing file and null for one that is not valid JSON. */
  async #readJson(key: string): Promise<unknown> {
    const text = await this.#stores.blobs.readText(key);
    return text === undefined ? undefined : parseJson(text);
  }

  #compare(key: string, published: unknown, recomputed: object): void {
    if (published === undefined) this.#report.add(`${key}: missing`);
    else this.#report.figures += this.#report.compareLeaves(key, published, recomputed);
  }
}

/** Says why configs cannot be graded again here: another version of their scorer graded them. */
function describeOtherVersions(
  { grading }: Edition,
  { scorers = scorerRegistry }: VerifyStores,
): ReadonlyMap<string, string> {
  return new Map(
    grading.configs.flatMap(({ config, scorer: { kind }, version }) => {
      const own = scorers.get(kind)?.version;
      if (own !== undefined && (version === null || version === own)) return [];
      const here = own === undefined ? 'which this release does not have' : `not version ${own}`;
      const reason = `grading ${grading.number}: ${config} was graded by version ${version ?? '(unknown)'} of scorer "${kind}", ${here}; its grades were not made again`;
      return [[config, reason]];
    }),
  );
}

function describeGrade({
  outcome,
  score,
  reason,
}: Pick<CellRow, 'outcome' | 'score' | 'reason'>): string {
  return `${outcome} ${score}${reason === null ? '' : ` (${reason})`}`;
}

function countLeaves(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + countLeaves(inner), 0);
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
