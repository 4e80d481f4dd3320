import type { GroupHeader } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';

/** The error of what works by a plan that another command has edited, or deleted, since it was read. */
export function editedMeanwhile({ group }: Pick<GroupHeader, 'group'>): ThriceError {
  return new ThriceError({
    code: 'spec-changed',
    message: `${group}: expected the plan as it was read, received one that was edited or deleted meanwhile; repeat the command`,
  });
}
