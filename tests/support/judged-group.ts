import {
  type BenchmarkSpec,
  benchmarkSpecSchema,
  type CellRow,
  checkQuestions,
  editGroup,
  enqueueGroup,
  finalizeGroup,
  type LoadedGroup,
  loadGroup,
  type ModelRequest,
  openQuestions,
  type Question,
  rerunCells,
  rescoreGroup,
  resolveBenchmark,
  type ScorerSpec,
  type Summary,
  verifyGroup,
  withCurrentGrading,
} from '@thrice/core';
import { readRows } from '../../packages/core/src/results/read-rows.ts';
import { aQuestion } from './builders.ts';
import { aDraft, FakeEngine } from './fake-engine.ts';
import type { FakeAnswer } from './fake-model-client.ts';
import { createTestDigest, FakeSourceReader } from './fake-source-reader.ts';
import { isToJudge, judgeScorer } from './judged-benchmark.ts';

/** A spec with the config `a`, whose answers the scorer `quality` has judged on the lane `court`. */
export function aJudgedSpec(parts: object = {}): BenchmarkSpec {
  const base_url = 'http://127.0.0.1:1/v1';
  return benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: {
      lab: { base_url, served_model: 'allow' },
      court: { base_url, served_model: 'allow' },
    },
    scorers: { quality: judgeScorer },
    configs: [{ name: 'a', model: 'lab/m', scorer: 'quality' }],
    prices: { 'court/judge': { input: 1, output: 1 } },
    ...parts,
  });
}

/** What a worker knows the grading by: the list of gradings on one machine, the header alone in a stage. */
export type WorkedBy = 'local' | 'stage';

/** A planned group whose answers are judged, over stores in memory. */
export class JudgedGroup {
  readonly engine: FakeEngine;
  readonly spec: BenchmarkSpec;
  readonly answer: FakeAnswer;
  loaded: LoadedGroup;

  private constructor(
    engine: FakeEngine,
    spec: BenchmarkSpec,
    answer: FakeAnswer,
    loaded: LoadedGroup,
  ) {
    this.engine = engine;
    this.spec = spec;
    this.answer = answer;
    this.loaded = loaded;
  }

  /** @param init.reuse - An earlier group, in the same stores. */
  static async plan(init: {
    readonly answer: FakeAnswer;
    readonly questions?: readonly Question[];
    readonly spec?: BenchmarkSpec;
    readonly reuse?: JudgedGroup;
  }): Promise<JudgedGroup> {
    const { answer, questions = [aQuestion()], spec = aJudgedSpec(), reuse } = init;
    const resolved = resolveBenchmark(spec, 'b.toml');
    const engine = new FakeEngine({
      benchmark: { ...resolved, reusesCalls: reuse !== undefined },
      answer,
      ...(reuse !== undefined && { stores: reuse.engine, random: () => 0.5 }),
    });
    const draft = { spec, reuse: reuse === undefined ? [] : [reuse.loaded.header.group] };
    const header = await engine.plan(questions, { draft });
    return new JudgedGroup(
      engine,
      spec,
      answer,
      loadGroup({ header, state: 'active', isPlanned: true }),
    );
  }

  /** Replaces the questions and the spec, as `thrice resume --spec` does; no task is sent. */
  async edit(rows: readonly Question[], spec = this.spec): Promise<void> {
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    const reader = new FakeSourceReader({ '/q.jsonl': text });
    const source = openQuestions('/q.jsonl', (path) => path, reader);
    const benchmark = resolveBenchmark(spec, 'b.toml');
    const checked = await checkQuestions(source, undefined, benchmark.configs, createTestDigest);
    const specSource = { path: 'b.toml', sha256: 'e'.repeat(64) };
    const draft = { ...aDraft(), spec, specSource };
    const skipped = new Map<string, string>();
    const edit = { benchmark, draft, source, checked, skipped, group: this.loaded };
    this.#becomes(await editGroup(edit, this.engine));
  }

  /** Has the answers of configs graded by other scorers, as `thrice rescore --spec` does; nobody is asked. */
  async rescore(scorers: Readonly<Record<string, ScorerSpec>>): Promise<void> {
    const edited = { specSha256: 'd'.repeat(64), scorers: new Map(Object.entries(scorers)) };
    const origin = { commandLine: ['judge', 'demo'], toolVersion: '0.1.0' };
    const { header } = await rescoreGroup(this.loaded, edited, origin, this.engine);
    this.#becomes(header);
  }

  /** Works on the tasks that are left. @returns The requests that were made. */
  async work(by: WorkedBy = 'local'): Promise<readonly ModelRequest[]> {
    const working = await this.#workers(by);
    await working.workAll();
    return working.models.requests;
  }

  /** Sends the tasks that are missing, and works on all. */
  async resume(by: WorkedBy = 'local'): Promise<readonly ModelRequest[]> {
    const { header } = this.loaded;
    const working = await this.#workers('local');
    const { ledger, responseCache, blobs, queue } = working;
    const stores = { ledger, responseCache, blobs, queue };
    await enqueueGroup(header, working.benchmark, stores);
    return await this.work(by);
  }

  /** Has the judges of the current grading asked, as `thrice judge` does. */
  async judge(by: WorkedBy = 'local'): Promise<readonly ModelRequest[]> {
    const { header } = this.loaded;
    const working = await this.#workers('local');
    const judges = working.benchmark.configs.flatMap(({ gradedBy }) => gradedBy ?? []);
    await rerunCells(header, header.runs, judges, working);
    return await this.work(by);
  }

  async rows(): Promise<readonly CellRow[]> {
    const { header, benchmark } = this.loaded;
    const { configs } = await withCurrentGrading(header, benchmark, this.engine.blobs);
    const rows: CellRow[] = [];
    for (const run of header.runs)
      for (const config of configs)
        for await (const row of readRows(header, run, config, this.engine)) rows.push(row);
    return rows;
  }

  async scores(): Promise<readonly (number | null)[]> {
    return (await this.rows()).map(({ score }) => score);
  }

  async publish(): Promise<Summary> {
    return await finalizeGroup(this.loaded, this.engine);
  }

  /** What a verification of its files finds once they are written. */
  async mismatches(): Promise<readonly string[]> {
    await this.publish();
    const { header, benchmark } = this.loaded;
    return (await verifyGroup(header, benchmark, this.engine)).mismatches;
  }

  #becomes(header: LoadedGroup['header']): void {
    this.loaded = loadGroup({ header, state: 'active', isPlanned: true });
  }

  async #workers(by: WorkedBy): Promise<FakeEngine> {
    const { header, benchmark: planned } = this.loaded;
    const { engine, answer } = this;
    const { reusesCalls } = engine.benchmark;
    const known =
      by === 'stage' ? planned : await withCurrentGrading(header, planned, engine.blobs);
    const benchmark = { ...known, reusesCalls };
    return new FakeEngine({ benchmark, answer, stores: engine, queue: engine.queue });
  }
}

/** The requests to judges, of all. */
export function toJudges(requests: readonly ModelRequest[]): readonly ModelRequest[] {
  return requests.filter(isToJudge);
}
