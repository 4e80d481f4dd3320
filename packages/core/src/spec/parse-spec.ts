import { type BenchmarkSpec, benchmarkSpecSchema } from '../domain/benchmark-spec.ts';
import { ThriceError } from '../errors.ts';
import { describeIssues } from './describe-issues.ts';

/**
 * Checks a benchmark spec.
 *
 * @param document - The parsed TOML or JSON.
 * @param file - Its path, for the error.
 * @throws {ThriceError} `invalid-spec`, one problem a line: file, key path, expected, received;
 *   `unsupported` for OneShot's dialect.
 */
export function parseSpec(document: unknown, file: string): BenchmarkSpec {
  refuseRollouts(document, file);
  const parsed = benchmarkSpecSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw invalidSpec(file, describeIssues(parsed.error, benchmarkSpecSchema, document));
}

/** An `invalid-spec` error over one or more problems. */
export function invalidSpec(file: string, problems: readonly string[]): ThriceError {
  const lines = problems.map((problem) => `${file}: ${problem}`);
  return new ThriceError({
    code: 'invalid-spec',
    message: lines.join('\n'),
    details: { problems },
  });
}

function refuseRollouts(document: unknown, file: string): void {
  if (typeof document !== 'object' || document === null || !('tasks' in document)) return;
  throw new ThriceError({
    code: 'unsupported',
    message: `${file}: tasks: rollout benchmarks are not supported by this version; expected [[configs]]`,
  });
}
