import { builtinLanes } from '@thrice/core';
import { smallBenchmark } from './small-benchmark.ts';

/** A key in the variable of each built-in lane, and in others. */
export function keysOf(...others: readonly string[]): Readonly<Record<string, string>> {
  const variables = Object.values(builtinLanes).map(({ apiKeyEnv }) => apiKeyEnv);
  return Object.fromEntries(
    [...variables, ...others].map((name) => [name, `sk-${name.toLowerCase()}-0123456789abcdef`]),
  );
}

/**
 * A benchmark of two questions with a config on each of some lanes, whose tables are given.
 *
 * @param more - Spec lines that follow the table of the last config.
 */
export function benchmarkOn(
  lanes: Readonly<Record<string, string>>,
  more = '',
): ReturnType<typeof smallBenchmark> {
  const tables = Object.entries(lanes).map(
    ([lane, table]) =>
      `[lanes.${lane}]\n${table}\n[[configs]]\nname = "${lane}"\nmodel = "${lane}/a"\nscorer = "includes"\n`,
  );
  return {
    ...smallBenchmark({ url: '', questionCount: 2 }),
    'benchmark.toml': `questions = "questions.jsonl"\n${tables.join('')}${more}`,
  };
}

/** The lines of a lane's table that point it at a server. */
export function tableAt({ origin }: { readonly origin: string }, more = ''): string {
  return `base_url = "${origin}/v1"\n${more}`;
}
