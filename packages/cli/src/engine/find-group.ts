import { type GroupRecord, type Ledger, suggestName, ThriceError } from '@thrice/core';

/**
 * Finds a group by its name, a unique prefix of it, or its label (the newest).
 *
 * @param flag - What `thrice ls` needs to list the same groups. @default nothing
 * @throws {ThriceError} `unknown-group` when there is none or a prefix fits several.
 */
export async function findGroup(ledger: Ledger, name: string, flag = ''): Promise<GroupRecord> {
  const groups = await ledger.listGroups();
  const exact = groups.find(({ header }) => header.group === name);
  const labelled = groups.find(({ header }) => header.label === name);
  const prefixed = groups.filter(({ header }) => header.group.startsWith(name));
  const found = exact ?? labelled ?? (prefixed.length === 1 ? prefixed[0] : undefined);
  if (found !== undefined) return found;
  const names = groups.map(({ header }) => header.group);
  const remedy =
    prefixed.length > 1
      ? `fits ${prefixed.length} groups: ${prefixed.map(({ header }) => header.group).join(', ')}`
      : `no group or label of that name${suggestName(name, names)}; "thrice ls${flag}" lists them`;
  throw new ThriceError({ code: 'unknown-group', message: `"${name}": ${remedy}` });
}

/**
 * The newest group.
 *
 * @throws {ThriceError} `unknown-group` when there is none.
 */
export async function newestGroup(ledger: Ledger): Promise<GroupRecord> {
  const [newest] = await ledger.listGroups();
  if (newest !== undefined) return newest;
  throw new ThriceError({
    code: 'unknown-group',
    message: 'expected a group, found none; start one with "thrice run SPEC"',
  });
}

/**
 * Finds a run by its name; a group's name or label stands for all of its runs.
 *
 * @throws {ThriceError} `unknown-group` when there is none.
 */
export async function findRuns(
  ledger: Ledger,
  name: string,
  flag = '',
): Promise<{ readonly group: GroupRecord; readonly runs: readonly string[] }> {
  const groups = await ledger.listGroups();
  const owner = groups.find(({ header }) => header.runs.includes(name));
  if (owner !== undefined) return { group: owner, runs: [name] };
  const group = await findGroup(ledger, name, flag);
  return { group, runs: group.header.runs };
}
