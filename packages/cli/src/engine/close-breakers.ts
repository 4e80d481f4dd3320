import {
  type Clock,
  type GroupHeader,
  type Ledger,
  laneOf,
  mayCallOtherModels,
} from '@thrice/core';

/**
 * Closes the breakers of a group that the user starts or resumes, which means that its lanes work again.
 *
 * @param which.configs - Configs whose breakers to close. @default all of the group
 * @param which.awaitsResets - Whether a breaker stays open until a known reset in the future.
 *   @default whether the group waits for quotas
 * @returns The lanes of these configs.
 */
export async function closeBreakers(
  header: GroupHeader,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  which: { readonly configs?: readonly string[]; readonly awaitsResets?: boolean } = {},
): Promise<ReadonlySet<string>> {
  const { configs, awaitsResets = header.waitForQuota } = which;
  const chosen = header.spec.configs.filter(({ name }) => configs?.includes(name) ?? true);
  const lanes = new Set(chosen.map(({ model }) => laneOf(model)));
  const isAnyLane = chosen.some(mayCallOtherModels);
  const nowIso = clock.toIso(clock.now());
  for (const { breakerKey, resetAt } of await ledger.listOpenBreakers()) {
    const isAwaited = awaitsResets && resetAt !== null && resetAt > nowIso;
    const isChosen = isAnyLane || lanes.has(laneOf(breakerKey));
    if (isChosen && !isAwaited) await ledger.closeBreaker(breakerKey);
  }
  return lanes;
}
