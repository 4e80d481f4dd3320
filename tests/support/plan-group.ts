import type {
  BlobStore,
  GroupHeader,
  GroupPlan,
  Ledger,
  ResponseCache,
  TaskQueue,
} from '@thrice/core';
import { enqueueGroup, storePlan } from '@thrice/core';

/**
 * Plans a group as `thrice run` does: stores it, and sends its tasks.
 *
 * @param onCreated - Called with the stored header.
 */
export async function planGroup(
  plan: GroupPlan & {
    readonly onCreated?: (header: GroupHeader) => void;
    readonly signal?: AbortSignal;
  },
  stores: {
    readonly ledger: Ledger;
    readonly responseCache: ResponseCache;
    readonly blobs: BlobStore;
    readonly queueOf: (group: string) => TaskQueue;
  },
): Promise<GroupHeader> {
  const { ledger, responseCache, blobs } = stores;
  const header = await storePlan(plan, { ledger, blobs });
  plan.onCreated?.(header);
  const queue = stores.queueOf(header.group);
  await enqueueGroup(header, plan.benchmark, { ledger, responseCache, blobs, queue }, plan.signal);
  return header;
}
