import type { GroupHeader } from '@thrice/core';
import type { LocalEngine } from '@thrice/local';
import { findGroup } from '../engine/find-group.ts';
import { folderFlag } from '../shell/place-flags.ts';
import type { RunOptions } from '../spec/prepare-run.ts';

/**
 * Finds the groups whose calls a run takes, each once.
 *
 * @throws {ThriceError} `unknown-group` for a group that is not in the store, or is being deleted.
 */
export async function findReusedGroups(
  { reuse = [], dir }: Pick<RunOptions, 'reuse' | 'dir'>,
  { ledger }: Pick<LocalEngine, 'ledger'>,
): Promise<readonly GroupHeader[]> {
  const groups = new Map<string, GroupHeader>();
  for (const name of reuse.flatMap((names) => names.split(','))) {
    const { header } = await findGroup(ledger, name, folderFlag(dir));
    groups.set(header.group, header);
  }
  return [...groups.values()];
}
