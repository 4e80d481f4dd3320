import type { Clock, GroupHeader, Ledger } from '@thrice/core';

/**
 * Opens the lanes of a group that somebody sets to work by hand: that says that they are fine again. Only
 * a known reset that is still to come is believed, where the group waits for it.
 *
 * @param configs - Those that are to go on. @default all of the group
 * @param believesResets - Whether known resets are believed in any case. @default where the group waits
 * @returns The lanes of these configs.
 */
export async function openLanes(
  header: GroupHeader,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  configs: readonly string[] = header.configs.map(({ config }) => config),
  believesResets: boolean = header.waitForQuota,
): Promise<ReadonlySet<string>> {
  const chosen = header.spec.configs.filter(({ name }) => configs.includes(name));
  const lanes = new Set(chosen.map(({ model }) => model.split('/')[0] ?? ''));
  const nowIso = clock.toIso(clock.now());
  for (const { subject, resetAt } of await ledger.listClosures()) {
    const [lane = ''] = subject.split('/');
    const isAwaited = believesResets && resetAt !== null && resetAt > nowIso;
    if (lanes.has(lane) && !isAwaited) await ledger.open(subject);
  }
  return lanes;
}
