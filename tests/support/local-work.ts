import { checkQuestions, type GroupPlan, openQuestions, withGradeConfigs } from '@thrice/core';

import { createNodeDigest, fileSourceReader, openGovernor } from '@thrice/local';
import type { WorkGroupOptions } from '../../packages/local/src/work/work-group-options.ts';
import { aDraft } from './fake-engine.ts';
import { inProcessPatterns } from './in-process-patterns.ts';
import { noBatchClients } from './no-batch-clients.ts';
import type { TemporaryFolder } from './temporary-folder.ts';

/** A plan of a group over the questions in `q.jsonl` of a folder. */
export async function aPlanIn(
  folder: TemporaryFolder,
  { random = () => 0, ...init }: Pick<GroupPlan, 'benchmark' | 'clock'> & Partial<GroupPlan>,
): Promise<GroupPlan> {
  const source = openQuestions('q.jsonl', (path) => folder.resolve(path), fileSourceReader);
  const { configs } = init.benchmark;
  const checked = await checkQuestions(source, undefined, configs, createNodeDigest);
  return { draft: aDraft(), source, checked, skipped: new Map(), random, ...init };
}

/** The options of work on a whole group whose tasks were sent, until it is done. */
export function workGroupOptions({
  engine,
  header,
  benchmark,
  random = () => 0,
  ...parts
}: Pick<WorkGroupOptions, 'engine' | 'header' | 'benchmark' | 'clientFor'> &
  Partial<WorkGroupOptions>): WorkGroupOptions {
  const never = new AbortController().signal;
  return {
    engine,
    header,
    benchmark,
    isPlanned: true,
    batchClientFor: noBatchClients,
    userCode: inProcessPatterns,
    random,
    governor: openGovernor({ engine, benchmark, random }),
    observe: () => undefined,
    scope: {
      runs: header.runs,
      configs: withGradeConfigs(benchmark.configs).map(({ name }) => name),
    },
    waitForQuota: false,
    drainSignal: never,
    stopSignal: never,
    ...parts,
  };
}
