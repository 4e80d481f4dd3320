import { ThriceError } from '../errors.ts';

/** A stored group whose header this version cannot read. */
export interface UnreadableGroup {
  readonly group: string;
  readonly createdAt: string;
  /** `store-unusable`, with what is wrong. */
  readonly error: ThriceError;
}

/**
 * Returns a group that could not be read as one that a list can do without.
 *
 * @throws {unknown} `error` unless it is `store-unusable`: any other says nothing about the group.
 */
export function asUnreadable(
  group: Pick<UnreadableGroup, 'group' | 'createdAt'>,
  error: unknown,
): UnreadableGroup {
  if (error instanceof ThriceError && error.code === 'store-unusable') return { ...group, error };
  throw error;
}

/** For lists that cannot do without any group. */
export function refuseUnreadable({ error }: UnreadableGroup): never {
  throw error;
}
