import type { BlobStore, Ledger, ResponseCache, TaskQueue } from '@thrice/core';

/** The stores that a process uses. */
export interface Stores {
  readonly ledger: Ledger;
  readonly responseCache: ResponseCache;
  readonly blobs: BlobStore;
  readonly queue: TaskQueue;
}

/** When a process crashes. */
export interface Crash {
  /** Number of writes that succeed before the crash. */
  readonly afterWrites: number;
  /** Whether the write it crashes at reaches the store; the process gets no response either way. */
  readonly isLastWriteStored: boolean;
}

const ledgerWrites: ReadonlySet<PropertyKey> = new Set<keyof Ledger>([
  'createGroup',
  'replaceHeader',
  'markPlanned',
  'setGroupState',
  'claimCell',
  'extendLeases',
  'releaseCell',
  'commitCall',
  'replaceSubmission',
  'completeCell',
]);

/** The stores of a process that crashes at one of its writes: that write and all later ones fail. */
export function crashingStores(
  { ledger, responseCache, blobs, queue }: Stores,
  crash: Crash,
): Stores {
  let writeCount = 0;
  const write = async (send: () => unknown): Promise<unknown> => {
    writeCount += 1;
    if (writeCount <= crash.afterWrites) return await send();
    if (writeCount === crash.afterWrites + 1 && crash.isLastWriteStored) await send();
    throw new Error('the process has crashed');
  };
  const guard = <Store extends object>(store: Store, writes: ReadonlySet<PropertyKey>): Store =>
    new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        const call = (...args: readonly unknown[]): unknown => Reflect.apply(method, target, args);
        return writes.has(name)
          ? (...args: readonly unknown[]) => write(() => call(...args))
          : call;
      },
    });
  return {
    ledger: guard(ledger, ledgerWrites),
    responseCache: guard(responseCache, new Set(['addEntries'])),
    blobs: guard(blobs, new Set(['write'])),
    queue: guard(queue, new Set(['send'])),
  };
}
