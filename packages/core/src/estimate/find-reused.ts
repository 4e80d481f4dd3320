import { fingerprintOf } from '../cells/fingerprint.ts';
import type { Benchmark, Config } from '../domain/benchmark.ts';
import type { Select } from '../domain/benchmark-spec.ts';
import type { GroupHeader } from '../domain/group.ts';
import { addPrompt, NO_PROMPTS, type PromptSizes } from '../domain/prompt-sizes.ts';
import type { CallPool } from '../ports/call-pool.ts';
import type { CreateDigest } from '../ports/digest.ts';
import { requestOf } from '../solvers/request-of.ts';
import { selectQuestions } from '../spec/questions/check-questions.ts';
import type { QuestionSource } from '../spec/questions/load-questions.ts';
import { createSelector } from '../spec/questions/select-questions.ts';
import { renderPrompt } from '../spec/render-prompt.ts';
import { callsOnce } from './estimate-config.ts';

/** The cells of a config whose only call is in the journal of an earlier group, over all runs. */
export interface ReusedCells {
  readonly cells: number;
  /** The prompts of the other cells, whose call is bought. */
  readonly bought: PromptSizes;
}

/**
 * Finds the cells of a plan that take their call from earlier groups, by config. Configs whose calls depend on answers
 * are left out.
 */
export async function findReused(
  plan: {
    readonly benchmark: Benchmark;
    readonly source: QuestionSource;
    readonly select: Select | undefined;
    /** The groups whose calls are taken. */
    readonly groups: readonly GroupHeader[];
  },
  { pool, createDigest }: { readonly pool: CallPool; readonly createDigest: CreateDigest },
): Promise<ReadonlyMap<string, ReusedCells>> {
  const { benchmark, source, select, groups } = plan;
  const recorded = await Promise.all(
    Array.from({ length: benchmark.replicates }, (_, index) => listRecorded(groups, index, pool)),
  );
  const counts = benchmark.configs
    .filter(callsOnce)
    .flatMap((config) => startCount(config, benchmark.lanes));
  for await (const question of selectQuestions(source, select)) {
    for (const count of counts.filter(({ includes }) => includes(question))) {
      const messages = renderPrompt(count.role, question);
      const request = requestOf(count.role, messages);
      const fingerprint = fingerprintOf(request, count.lane, createDigest);
      const boughtCount = recorded.filter((fingerprints) => !fingerprints.has(fingerprint)).length;
      count.cells += recorded.length - boughtCount;
      for (let run = 0; run < boughtCount; run += 1)
        count.bought = addPrompt(count.bought, messages);
    }
  }
  return new Map(counts.map(({ name, cells, bought }) => [name, { cells, bought }]));
}

/** What is counted of a config that makes one call in each cell. */
function startCount({ name, roles, lane: laneName, select }: Config, lanes: Benchmark['lanes']) {
  const { includes } = createSelector(select);
  const [role] = roles;
  const lane = lanes.get(laneName);
  if (role === undefined || lane === undefined) return [];
  return [{ name, role, lane, includes, cells: 0, bought: NO_PROMPTS }];
}

/** Lists what groups have asked in the replicate of an index. */
async function listRecorded(
  groups: readonly GroupHeader[],
  index: number,
  pool: CallPool,
): Promise<ReadonlySet<string>> {
  const fingerprints = new Set<string>();
  for (const { runs, configs } of groups) {
    const run = runs[index];
    if (run === undefined) continue;
    for (const { config } of configs) {
      for await (const { fingerprint } of pool.listPurchases(run, config))
        fingerprints.add(fingerprint);
    }
  }
  return fingerprints;
}
