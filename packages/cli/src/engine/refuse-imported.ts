import { type GroupHeader, ThriceError } from '@thrice/core';

/**
 * Refuses a group that was imported, where its prompts or answers are needed: the file of another tool has none.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseImported({ group, imported }: GroupHeader): void {
  if (imported === undefined) return;
  throw new ThriceError({
    code: 'unsupported',
    message: `${group}: expected a group that was run with Thrice, received one imported from ${imported.format}, which has neither prompts nor answers`,
  });
}
