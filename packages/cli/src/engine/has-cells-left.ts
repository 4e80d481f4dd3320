import type { GroupHeader, Ledger } from '@thrice/core';
import { cellsLeft } from './count-left.ts';
import { countConfigs } from './describe-status.ts';

/** Whether a group has cells without a result, or answers that wait for their judge. */
export async function hasCellsLeft(
  header: GroupHeader,
  stores: { readonly ledger: Ledger },
): Promise<boolean> {
  return cellsLeft({ header, configs: await countConfigs(header, stores) }).length > 0;
}
