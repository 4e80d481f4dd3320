import type { BenchmarkSpec } from '@thrice/core';

/** Keys that an option of `thrice run` replaces, by option: what the spec said is not known for those. */
const KEYS_BY_OPTION: Readonly<Record<string, readonly string[]>> = {
  '--limit': ['select.start', 'select.limit'],
  '--parallel': ['parallel'],
  '--replicates': ['replicates'],
  '--skip-missing-keys': ['skip_missing_keys'],
};

/**
 * Lists what an edited spec changes in the plan of a group, other than its scorers.
 *
 * @param commandLine - The command that planned the group. What its options replaced is not compared.
 * @returns One line per change: key path, planned, received.
 */
export function describeSpecChanges(
  planned: BenchmarkSpec,
  edited: BenchmarkSpec,
  commandLine: readonly string[],
): readonly string[] {
  const names = new Set(planned.configs.map(({ name }) => name));
  const hasOption = (option: string) =>
    commandLine.some((argument) => argument === option || argument.startsWith(`${option}=`));
  const before = leavesOf(planned, names);
  const after = leavesOf(edited, hasOption('--configs') ? names : undefined);
  for (const [option, keys] of Object.entries(KEYS_BY_OPTION)) {
    if (!hasOption(option)) continue;
    for (const key of keys) {
      before.delete(key);
      after.delete(key);
    }
  }
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .map(
      (path) =>
        `${path}: planned ${before.get(path) ?? 'nothing'}, received ${after.get(path) ?? 'nothing'}`,
    );
}

/** Maps the path of each value that does not concern grading to its JSON text; configs by their names. */
function leavesOf(
  spec: BenchmarkSpec,
  names: ReadonlySet<string> | undefined,
): Map<string, string> {
  const { scorers: _scorers, configs, ...rest } = spec;
  const leaves = new Map<string, string>();
  collectLeaves(rest, '', leaves);
  for (const { name, scorer: _scorer, ...config } of configs) {
    if (names?.has(name) ?? true) collectLeaves(config, `configs.${name}`, leaves);
  }
  return leaves;
}

function collectLeaves(value: unknown, path: string, leaves: Map<string, string>): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      collectLeaves(inner, path === '' ? key : `${path}.${key}`, leaves);
    }
  } else if (value !== undefined) leaves.set(path, JSON.stringify(value));
}
