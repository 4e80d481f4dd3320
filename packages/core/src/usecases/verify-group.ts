import type { Benchmark } from '../domain/benchmark.ts';
import { type CellRow, isVerdict } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { createSelector } from '../planning/select-questions.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import { scoreAnswer } from '../scoring/score-answer.ts';
import { SummaryBuilder } from '../stats/summary-builder.ts';
import { groupKey, isPlanned, readRowFile, runKey } from './finalize-group.ts';
import { readStoredQuestions } from './read-question.ts';

/** Mismatches shown before the check gives up. */
const MAX_MISMATCHES = 50;

/** What {@link verifyGroup} found. */
export interface Verification {
  readonly rows: number;
  /** Answers scored again from the journal. */
  readonly rescored: number;
  /** Figures compared in summaries. */
  readonly figures: number;
  /** One line each; none if every published number is what its records say. */
  readonly mismatches: readonly string[];
}

/**
 * Recomputes every published number of a group.
 *
 * Each row of the cells files is checked against its question (same cells, same order, same target)
 * and scored again from the recorded answer in the journal; then each summary is computed again from
 * the rows and compared figure by figure, exactly.
 */
export async function verifyGroup(
  header: GroupHeader,
  benchmark: Benchmark,
  stores: { readonly ledger: Ledger; readonly blobs: BlobStore },
): Promise<Verification> {
  const check = new GroupCheck(header, benchmark, stores);
  return await check.run();
}

class GroupCheck {
  readonly #header: GroupHeader;
  readonly #benchmark: Benchmark;
  readonly #ledger: Ledger;
  readonly #blobs: BlobStore;
  readonly #mismatches: string[] = [];
  #rows = 0;
  #rescored = 0;
  #figures = 0;

  constructor(
    header: GroupHeader,
    benchmark: Benchmark,
    stores: { readonly ledger: Ledger; readonly blobs: BlobStore },
  ) {
    this.#header = header;
    this.#benchmark = benchmark;
    this.#ledger = stores.ledger;
    this.#blobs = stores.blobs;
  }

  async run(): Promise<Verification> {
    const { group, runs } = this.#header;
    const whole = this.#newBuilder();
    for (const run of runs) {
      const own = this.#newBuilder();
      for (const config of this.#benchmark.configs) {
        if (isPlanned(this.#header, config.name)) await this.#checkRows(run, config, [own, whole]);
      }
      await this.#compare(runKey(group, run, 'summary.json'), own.build());
    }
    await this.#compare(groupKey(group, 'summary.json'), whole.build());
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

  async #checkRows(
    run: string,
    config: Benchmark['configs'][number],
    builders: readonly SummaryBuilder[],
  ): Promise<void> {
    const key = runKey(this.#header.group, run, `cells/${config.name}.jsonl`);
    const rows = readRowFile(this.#blobs, key);
    const includes = createSelector(config.select);
    for await (const { question } of readStoredQuestions(this.#header, this.#blobs)) {
      if (!includes(question)) continue;
      const { value: row, done } = await rows.next();
      if (done === true) {
        this.#report(`${key}: the row of ${question.id} is missing`);
        return;
      }
      this.#rows += 1;
      for (const builder of builders) builder.add(row);
      await this.#checkRow(key, { ...row, run }, question, config);
    }
    if ((await rows.next()).done !== true) this.#report(`${key}: more rows than questions`);
  }

  async #checkRow(
    key: string,
    row: CellRow,
    question: Question,
    config: Benchmark['configs'][number],
  ): Promise<void> {
    if (row.id !== question.id || row.config !== config.name) {
      this.#report(`${key}: expected the row of ${question.id}, received ${row.config}/${row.id}`);
      return;
    }
    if (JSON.stringify(row.target) !== JSON.stringify(question.target)) {
      this.#report(`${key}: ${row.id}: the target is not its question's`);
    }
    if (row.calls.length === 0) {
      if (isVerdict(row.outcome)) this.#report(`${key}: ${row.id}: a verdict without a call`);
      return;
    }
    const entry = (await this.#ledger.readJournal(row)).get('answer');
    if (entry === undefined) {
      this.#report(`${key}: ${row.id}: its call is not in the journal`);
      return;
    }
    const verdict = scoreAnswer(config.scorer, question, entry.output, entry.call.finishReason);
    this.#rescored += 1;
    if (
      verdict.outcome === row.outcome &&
      verdict.score === row.score &&
      verdict.answer === row.answer
    ) {
      return;
    }
    this.#report(
      `${key}: ${row.id}: published ${row.outcome} ${row.score}, the recorded answer gives ${verdict.outcome} ${verdict.score}`,
    );
  }

  async #compare(key: string, recomputed: object): Promise<void> {
    const text = await this.#blobs.readText(key);
    if (text === undefined) {
      this.#report(`${key}: missing`);
      return;
    }
    const published = flatten(parseJson(text));
    const expected = flatten(recomputed);
    this.#figures += expected.size;
    for (const [path, value] of expected) {
      if (published.get(path) === value) continue;
      this.#report(
        `${key}: ${path}: published ${published.get(path) ?? 'nothing'}, recomputed ${value}`,
      );
    }
    for (const path of published.keys()) {
      if (!expected.has(path)) this.#report(`${key}: ${path}: published, but nothing computes it`);
    }
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

/** Every leaf of a document by its path, as JSON text. */
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
