import type { Benchmark, Config } from '../domain/benchmark.ts';
import { currentGradeConfigOf, currentJudgesOf, judgesOf } from '../domain/config-models.ts';
import { type GroupHeader, pricesOf } from '../domain/group.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import { resolveBenchmark, resolveLane } from './resolve-benchmark.ts';
import { gradeConfigOf, probeConfigOf } from './resolve-judges.ts';

/** A stored group with its benchmark, resolved once for everything that is done with it. */
export interface LoadedGroup extends GroupRecord {
  readonly benchmark: Benchmark;
}

/** Adds its benchmark to a stored group; see {@link benchmarkOf}. */
export function loadGroup(record: GroupRecord): LoadedGroup {
  return { ...record, benchmark: benchmarkOf(record.header) };
}

/**
 * Resolves the benchmark of a stored group, with the scorers that its configs were planned with, or by whose judges they
 * were graded since.
 *
 * Any scorer, solver and dataset is accepted: they were checked when the group was planned.
 */
export function benchmarkOf(header: GroupHeader): Benchmark {
  const { spec, specSource, configs, keys, reuse, questions } = header;
  const benchmark = resolveBenchmark(spec, specSource.path, undefined, keys);
  const planned = benchmark.configs.map((config) => {
    const { scorer = config.scorer, scorerVersion = null } =
      configs.find((entry) => entry.config === config.name) ?? {};
    return { ...config, scorer, scorerVersion, combination: { ...config.combination, scorer } };
  });
  const gradeConfigs = judgesOf(header).flatMap((judges) => {
    const config = planned.find(({ name }) => name === judges.config);
    const graded = config && gradeConfigOf(config, judges);
    if (graded === undefined) return [];
    const own = { ...graded, targetsKey: judges.questionsKey };
    return header.probed?.includes(own.name) === true ? [own, probeConfigOf(own)] : [own];
  });
  const judgeLanes = new Set(gradeConfigs.flatMap(({ roles }) => roles.map(({ lane }) => lane)));
  return {
    ...benchmark,
    prices: pricesOf(header),
    reusesCalls: reuse.length > 0,
    questionsKey: questions.key,
    lanes: new Map([
      ...[...judgeLanes].map((name) => [name, resolveLane(spec, name)] as const),
      ...benchmark.lanes,
    ]),
    configs: planned.map((config) => withCurrentJudges(config, header, gradeConfigs)),
    gradeConfigs,
  };
}

/** Gives a config the scorer by whose judges it is graded by now, or which asks none any more. */
function withCurrentJudges(
  config: Config,
  header: GroupHeader,
  gradeConfigs: readonly Config[],
): Config {
  const judgedBy = gradeConfigs.filter(({ grades }) => grades === config.name);
  const current = currentJudgesOf(header, config.name);
  if (judgedBy.length === 0 || current === undefined)
    return { ...config, gradedBy: undefined, judgedBy: undefined };
  const { scorer, grading, questionsKey: targetsKey } = current;
  const name = currentGradeConfigOf(header, config.name);
  const gradedBy = judgedBy.find((each) => each.name === name);
  return { ...config, scorer, grading, targetsKey, gradedBy, judgedBy };
}

/** Reads a group and resolves its benchmark; undefined if there is no such group. */
export async function readGroup(
  group: string,
  ledger: Pick<Ledger, 'readGroup'>,
): Promise<LoadedGroup | undefined> {
  const record = await ledger.readGroup(group);
  return record === undefined ? undefined : loadGroup(record);
}
