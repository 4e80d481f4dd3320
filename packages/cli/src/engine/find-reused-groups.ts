import type { GroupHeader, Ledger } from '@thrice/core';
import type { RunOptions } from '../spec/prepare-run.ts';
import { findGroup } from './find-group.ts';

/**
 * Finds the groups whose calls a run takes, each once.
 *
 * @param flag - The flag with which `thrice ls` lists the same groups.
 * @throws {ThriceError} `unknown-group` for a group that is not in the store, or is being deleted.
 */
export async function findReusedGroups(
  { reuse = [] }: Pick<RunOptions, 'reuse'>,
  ledger: Pick<Ledger, 'listGroups'>,
  flag: string,
): Promise<readonly GroupHeader[]> {
  const groups = new Map<string, GroupHeader>();
  for (const name of reuse.flatMap((names) => names.split(','))) {
    const { header } = await findGroup(ledger, name, flag);
    groups.set(header.group, header);
  }
  return [...groups.values()];
}
