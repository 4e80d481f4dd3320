import type { Benchmark } from '../domain/benchmark.ts';
import type { GroupHeader } from '../domain/group.ts';
import { limits } from '../limits.ts';
import type { CallPool, RecordedPurchase } from '../ports/call-pool.ts';
import type { Ledger } from '../ports/ledger.ts';

/** Where the calls of groups are found and entered. */
export interface PoolStores {
  readonly ledger: Pick<Ledger, 'readGroup'>;
  readonly pool: CallPool;
}

/**
 * Enters the calls that a group may take without buying them: those of the groups that it reuses, replicate by
 * replicate, and its own, which an edit or a copy between engines may have brought.
 *
 * To be called before the tasks of the group are sent, so that no cell buys what is still to be entered. Safe to
 * repeat after a crash. A reused group that was deleted since is left out.
 */
export async function fillPool(
  header: GroupHeader,
  { sharesCalls }: Pick<Benchmark, 'sharesCalls'>,
  { ledger, pool }: PoolStores,
): Promise<void> {
  const sources = await Promise.all(header.reuse.map((group) => ledger.readGroup(group)));
  const groups = sources.flatMap((record) => (record === undefined ? [] : [record.header]));
  for (const group of sharesCalls ? [header, ...groups] : groups) {
    for (const [index, run] of header.runs.entries()) {
      const source = group.runs[index];
      if (source === undefined) continue;
      for (const { config } of group.configs) {
        await enter({ source, config, run, sharesCalls }, pool);
      }
    }
  }
}

/** The calls of a config in a run, to be entered for another run. */
interface Entering {
  readonly source: string;
  readonly config: string;
  readonly run: string;
  readonly sharesCalls: boolean;
}

async function enter(
  { source, config, run, sharesCalls }: Entering,
  pool: CallPool,
): Promise<void> {
  let page: RecordedPurchase[] = [];
  for await (const { buyer, fingerprint, sample } of pool.listPurchases(source, config)) {
    const call = { run, fingerprint, sample };
    // Without sharing, a config of the same name comes first: configs that ask the same keep answers of their own.
    if (!sharesCalls) page.push({ call: { ...call, config }, buyer });
    page.push({ call: { ...call, config: null }, buyer });
    if (page.length < limits.pageSize) continue;
    await pool.recordPurchases(page);
    page = [];
  }
  if (page.length > 0) await pool.recordPurchases(page);
}
