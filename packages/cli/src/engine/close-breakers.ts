import { type Clock, type GroupHeader, type Ledger, laneOf } from '@thrice/core';

/**
 * Opens the lanes of a group that somebody sets to work by hand: that says that they are fine again. Only
 * a known reset that is still to come is believed.
 *
 * @param which.configs - Those that are to go on. @default all of the group
 * @param which.believesResets - Whether known resets are believed. @default where the group waits for them
 * @returns The lanes of these configs.
 */
export async function closeBreakers(
  header: GroupHeader,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  which: { readonly configs?: readonly string[]; readonly believesResets?: boolean } = {},
): Promise<ReadonlySet<string>> {
  const { configs, believesResets = header.waitForQuota } = which;
  const chosen = header.spec.configs.filter(({ name }) => configs?.includes(name) ?? true);
  const lanes = new Set(chosen.map(({ model }) => laneOf(model)));
  const nowIso = clock.toIso(clock.now());
  for (const { breakerKey, resetAt } of await ledger.listOpenBreakers()) {
    const isAwaited = believesResets && resetAt !== null && resetAt > nowIso;
    if (lanes.has(laneOf(breakerKey)) && !isAwaited) await ledger.closeBreaker(breakerKey);
  }
  return lanes;
}
