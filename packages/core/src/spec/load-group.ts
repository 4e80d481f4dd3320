import type { Benchmark } from '../domain/benchmark.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import { resolveBenchmark } from './resolve-benchmark.ts';

/** A stored group with its benchmark, resolved once for everything that is done with it. */
export interface LoadedGroup extends GroupRecord {
  readonly benchmark: Benchmark;
}

/**
 * Resolves the benchmark of a stored group.
 *
 * Any scorer, solver and dataset is accepted: they were checked when the group was planned.
 */
export function loadGroup(record: GroupRecord): LoadedGroup {
  const { spec, specSource } = record.header;
  return { ...record, benchmark: resolveBenchmark(spec, specSource.path) };
}

/** Reads a group and resolves its benchmark; undefined if there is no such group. */
export async function readGroup(
  group: string,
  ledger: Pick<Ledger, 'readGroup'>,
): Promise<LoadedGroup | undefined> {
  const record = await ledger.readGroup(group);
  return record === undefined ? undefined : loadGroup(record);
}
