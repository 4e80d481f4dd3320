import type { GroupHeader, Ledger } from '@thrice/core';
import { countConfigs } from './describe-status.ts';

/** Whether a group has cells without a result. */
export async function hasCellsLeft(
  header: GroupHeader,
  stores: { readonly ledger: Ledger },
): Promise<boolean> {
  return (await countConfigs(header, stores)).some(({ notAttempted }) => notAttempted > 0);
}
