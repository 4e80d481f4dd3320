import { join } from 'node:path';
import type { Summary } from '@thrice/core';
import { type Intercept, parseStack, startCloud, synthesize } from '@thrice/local-cloud';
import { type Faults, startSimulator } from '@thrice/simulator';
import { groupOf } from '../../support/run-thrice.ts';
import { listMessages, stageBenchmark, thriceIn } from '../../support/stage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { within } from '../../support/wait-until.ts';
import { createAt } from './create-stack.ts';
import type { Judge } from './judge.ts';

const ROOT = join(import.meta.dirname, '../../..');
const QUESTION_COUNT = 500;
/** Makes the question file longer than 8 MiB, so that it is uploaded in parts. */
const PADDING = 'How long may a question be? '.repeat(700);
/** A run that has not ended by then hangs. */
const RUN_SECONDS = 1_800;

/** What a model server does now and then; each makes a task be released and delivered again. */
const faults: Faults = {
  seed: 20261122,
  faults: [
    { kind: 'rate-limit', rate: 0.02, retryAfterSeconds: 1, maxPerQuestion: 1 },
    { kind: 'overloaded', rate: 0.02, maxPerQuestion: 1 },
    { kind: 'reset', rate: 0.02, afterBytes: 40, maxPerQuestion: 1 },
  ],
};

/** How a run went whose cloud has a judge in place of one emulator. */
export interface CloudResult {
  readonly cellCount: number;
  readonly requestCount: number;
  /** Requests that the judge refused, by operation and status. */
  readonly refusals: ReadonlyMap<string, number>;
  /** What is wrong, in sentences; empty if nothing is. */
  readonly problems: readonly string[];
}

/** Runs a benchmark of {@link QUESTION_COUNT} cells in the local cloud and verifies its results. */
export async function runCloud(judge: Judge): Promise<CloudResult> {
  await using folder = await temporaryFolder();
  await using running = await judge.start({ folder: folder.path });
  const graph = await synthesize(ROOT, folder.path);
  const servers = await createAt(judge.service, running.url, parseStack(graph));
  const seen = { requestCount: 0, refusals: new Map<string, number>() };
  await using cloud = await startCloud({
    root: ROOT,
    synthesize: () => Promise.resolve(graph),
    logPath: join(folder.path, 'functions.log'),
    machine: { PATH: process.env['PATH'] },
    tickSeconds: 1,
    servers,
    intercept: countRefusals(judge, seen),
  });
  await using simulator = await startSimulator({ faults });
  const files = stageBenchmark({ url: simulator.url, questionCount: QUESTION_COUNT });
  await using work = await temporaryFolder({
    'benchmark.toml': files['benchmark.toml'],
    'questions.jsonl': files['questions.jsonl'].replaceAll('"question":"', `$&${PADDING}`),
  });
  const cwd = work.path;
  const command = thriceIn(cloud, cwd, 'run', 'benchmark.toml');
  const ran = await within(RUN_SECONDS, `the run with ${judge.name}`, command);
  const group = groupOf(ran);
  const verified = await thriceIn(cloud, cwd, 'verify', group);
  const pulled = await thriceIn(cloud, cwd, 'pull', group);
  const summarized = await thriceIn(cloud, cwd, 'summarize', group, '--json');
  const messages = await listMessages(cloud, cwd);
  const correct = countCorrect(summarized.stdout);
  const questions = [...simulator.stats().requestsByQuestion.values()];
  const notOnce = questions.filter(({ ok }) => ok !== 1).length;
  return {
    cellCount: questions.length,
    ...seen,
    problems: [
      ...Object.entries({ run: ran, verify: verified, pull: pulled, summarize: summarized })
        .filter(([, { exitCode }]) => exitCode !== 0)
        .map(([name, { exitCode, stderr }]) => `${name}: exit ${exitCode}: ${stderr.slice(-600)}`),
      ...(correct === QUESTION_COUNT ? [] : [`${correct} correct cells of ${QUESTION_COUNT}`]),
      ...(questions.length === QUESTION_COUNT ? [] : [`${questions.length} questions asked`]),
      ...(notOnce === 0 ? [] : [`${notOnce} questions not answered exactly once`]),
      ...(messages.cells.length + messages.unreadable === 0 ? [] : ['messages in the DLQ']),
    ],
  };
}

function countCorrect(json: string): number | undefined {
  try {
    const [config] = (JSON.parse(json) as Summary).configs;
    return config?.replicates[0]?.correct;
  } catch {
    return undefined;
  }
}

/** Counts what the judge is asked for and what it refuses. */
function countRefusals(
  { service }: Judge,
  seen: { requestCount: number; readonly refusals: Map<string, number> },
): Intercept {
  return async (request, proceed) => {
    const response = await proceed();
    if (request.service !== service) return response;
    seen.requestCount += 1;
    if (response.statusCode < 400) return response;
    const code = /(?:#|<Code>)(\w+)/.exec(response.body.toString('utf8'))?.[1] ?? '';
    const refusal = `${request.operation} ${response.statusCode} ${code}`.trim();
    seen.refusals.set(refusal, (seen.refusals.get(refusal) ?? 0) + 1);
    return response;
  };
}
