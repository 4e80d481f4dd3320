import { type ScorerSpec, scorersOf, ThriceError } from '@thrice/core';

/**
 * Refuses scorers that are code of the user, which no function of a stage runs.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseUserCode(scorers: Iterable<ScorerSpec>): void {
  const [first] = [...scorers].flatMap(scorersOf).flatMap(({ kind, path, command }) => {
    if (kind === 'file') return [String(path)];
    return Array.isArray(command) ? [command.join(' ')] : [];
  });
  if (first === undefined) return;
  throw new ThriceError({
    code: 'unsupported',
    message: `scorer: expected one that a stage has, received "${first}", which is code of yours; run the spec on this machine`,
  });
}
