import { resolve } from 'node:path';
import { countOf, openQuestions, ThriceError } from '@thrice/core';
import { fileSourceReader } from '@thrice/local';
import {
  loadBehaviour,
  loadFaults,
  loadRecordings,
  type SimulatedQuestion,
  startSimulator,
} from '@thrice/simulator';
import { findRecordedRun, loadRecordedCalls } from '../local/load-recorded-calls.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';
import { readSimulatedQuestions } from '../spec/bundled-simulator.ts';

/** Options of `thrice simulate`. */
export interface SimulateOptions {
  readonly replay?: string;
  readonly dir: string;
  readonly behaviour?: string;
  readonly questions?: string;
  readonly faults?: string;
  readonly port: number;
  readonly log?: string;
}

/** `thrice simulate`: serves until Ctrl-C; prints its base URL first. */
export async function simulate(terminal: Terminal, options: SimulateOptions): Promise<ExitCode> {
  if (options.questions !== undefined && options.behaviour === undefined) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: '--questions: expected --behaviour as well, received none',
    });
  }
  const load = async <T>(path: string | undefined, loader: (path: string) => Promise<T>) =>
    path === undefined ? undefined : await loader(resolve(terminal.workingFolder, path));
  const { replay, dir } = options;
  const run = replay === undefined ? undefined : findRecordedRun(replay, dir, terminal);
  const input = {
    recordings: run === undefined ? await load(replay, loadRecordings) : undefined,
    calls: run === undefined ? undefined : await loadRecordedCalls(run, terminal),
    behaviour: await load(options.behaviour, loadBehaviour),
    faults: await load(options.faults, loadFaults),
    questions: await load(options.questions, loadSimulatedQuestions),
  };
  using signals = listenForStop();
  await using simulator = await startSimulator({ ...input, port: options.port, log: options.log });
  terminal.print(simulator.url);
  await new Promise((done) => signals.drain.addEventListener('abort', done));
  const { requestCount, okCount } = simulator.stats();
  terminal.error(`${countOf(requestCount, 'request')}, ${okCount} answered`);
  return exitCodes.complete;
}

async function loadSimulatedQuestions(path: string): Promise<readonly SimulatedQuestion[]> {
  const source = openQuestions(path, (inner) => inner, fileSourceReader);
  return await readSimulatedQuestions(source);
}
