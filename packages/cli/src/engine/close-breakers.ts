import {
  type Clock,
  type GroupHeader,
  type Ledger,
  laneOf,
  lanesOfGroup,
  type OpenBreaker,
} from '@thrice/core';

/** Which breakers {@link chooseBreakers} chooses. */
export interface BreakerChoice {
  /** Configs whose breakers to choose. @default all of the group */
  readonly configs?: readonly string[];
  /** Whether a breaker stays open until a known reset in the future. @default whether the group waits for quotas */
  readonly awaitsResets?: boolean;
}

/**
 * Chooses the breakers of a group that the user starts or resumes, which means that its lanes work again.
 *
 * @returns These breakers, and the lanes of the configs.
 */
export async function chooseBreakers(
  header: GroupHeader,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  { configs, awaitsResets = header.waitForQuota }: BreakerChoice = {},
): Promise<{ readonly breakers: readonly OpenBreaker[]; readonly lanes: ReadonlySet<string> }> {
  const lanes = lanesOfGroup(header, configs);
  const nowIso = clock.toIso(clock.now());
  const breakers = (await ledger.listOpenBreakers())
    .filter(({ resetAt }) => !(awaitsResets && resetAt !== null && resetAt > nowIso))
    .filter(({ breakerKey }) => lanes.has(laneOf(breakerKey)));
  return { breakers, lanes };
}

/** Closes the breakers that {@link chooseBreakers} chooses. Returns the lanes of the configs. */
export async function closeBreakers(
  header: GroupHeader,
  stores: { readonly ledger: Ledger; readonly clock: Clock },
  choice: BreakerChoice = {},
): Promise<ReadonlySet<string>> {
  const { breakers, lanes } = await chooseBreakers(header, stores, choice);
  for (const breaker of breakers) await stores.ledger.closeBreaker(breaker);
  return lanes;
}
