import {
  type Benchmark,
  type BenchmarkSpec,
  type CellRow,
  checkQuestions,
  createBenchmarkSpecSchema,
  type GroupPlan,
  openQuestions,
} from '@thrice/core';
import { createNodeDigest, fileSourceReader, systemClock } from '@thrice/local';
import { parseSpec } from '../../packages/core/src/spec/parse-spec.ts';
import { resolveBenchmark } from '../../packages/core/src/spec/resolve-benchmark.ts';
import { extensions } from '../fixtures/toy/extensions.ts';
import { aDraft } from './fake-engine.ts';
import { aCompletion, type HttpServer, sendJson, startHttpServer } from './http-server.ts';

/** How long the model server of the toy benchmark takes for an answer, ms. */
const LATENCY_MS = 20;

/** What the model server of the toy benchmark answers, whatever it is asked. */
export const toyAnswer = '24';

/** A question row that the toy benchmark scores as right: the answer, reversed. */
export function toyQuestions(count: number): string {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: `q${index + 1}`,
    question: `What is ${index + 1} and what is missing to 42?`,
    target: '42',
  }));
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

/** A benchmark whose config has the solver of two steps and the scorer that reads backwards. */
export function toySpec(url: string): BenchmarkSpec {
  const schema = createBenchmarkSpecSchema({
    scorers: extensions.scorers.values(),
    solvers: extensions.solvers.keys(),
    datasets: ['none'],
  });
  const document = {
    name: 'toy',
    questions: 'questions.jsonl',
    parallel: 8,
    lanes: { sim: { base_url: url } },
    scorers: { backwards: { kind: 'reversed' } },
    configs: [{ name: 'toy', solver: 'two-step', model: 'sim/m', scorer: 'backwards' }],
  };
  return parseSpec(document, 'toy.json', schema);
}

/** Resolves a toy spec, as it was written or stored. */
export function resolveToy(spec: BenchmarkSpec): Benchmark {
  return resolveBenchmark(spec, 'toy.json');
}

/** A plan of the toy benchmark over the question file of a folder. */
export async function planToy(folder: string, url: string): Promise<GroupPlan> {
  const spec = toySpec(url);
  const benchmark = resolveToy(spec);
  const source = openQuestions('questions.jsonl', (path) => `${folder}/${path}`, fileSourceReader);
  const checked = await checkQuestions(source, undefined, [], createNodeDigest);
  const cellCounts = new Map([['toy', checked.count]]);
  return {
    benchmark,
    draft: aDraft({ draft: { benchmark: 'toy', label: 'toy', spec } }),
    source,
    checked: { ...checked, cellCounts },
    skipped: new Map(),
    clock: systemClock,
    random: Math.random,
  };
}

/** A model server that takes a while and counts how often each step of each cell was asked for. */
export async function startToyServer(): Promise<
  HttpServer & { readonly counts: ReadonlyMap<string, number> }
> {
  const counts = new Map<string, number>();
  const server = await startHttpServer((response, { headers }) => {
    const step = String(headers['x-thrice-cell']);
    counts.set(step, (counts.get(step) ?? 0) + 1);
    setTimeout(() => sendJson(response, aCompletion({ content: toyAnswer })), LATENCY_MS);
  });
  return { ...server, counts, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** What a toy benchmark that went well comes to: each cell scored over both of its steps. */
export function summarizeToy(rows: readonly CellRow[]): object {
  const wholeCells = rows.filter(
    ({ outcome, score, answer, calls }) =>
      outcome === 'scored' &&
      score === 1 &&
      answer === '42' &&
      calls.map(({ step }) => step).join() === 'draft,check',
  );
  return { rows: rows.length, whole: wholeCells.length };
}
