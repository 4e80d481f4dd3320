import {
  type Benchmark,
  type BenchmarkSpec,
  type GroupDraft,
  type Lane,
  resolveBenchmark,
} from '@thrice/core';

/**
 * Resolves a spec, and says which of its lanes have a key: a router leaves out the models whose lane has none.
 *
 * @throws {ThriceError} `invalid-spec`.
 */
export function resolveWithKeys(
  spec: BenchmarkSpec,
  file: string,
  keyOf: (lane: Lane) => GroupDraft['keys'][string],
): { readonly benchmark: Benchmark; readonly keys: GroupDraft['keys'] } {
  const { lanes } = resolveBenchmark(spec, file);
  const keys = Object.fromEntries([...lanes.values()].map((lane) => [lane.name, keyOf(lane)]));
  return { benchmark: resolveBenchmark(spec, file, keys), keys };
}
