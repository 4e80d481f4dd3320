/**
 * Maps over items with at most `limit` of them in flight at once; results in the items' order.
 *
 * The first error is thrown after the others in flight have settled; no further item is begun.
 */
export async function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  let hasFailed = false;
  const workers = Array.from({ length: Math.min(limit, items.length) }, async () => {
    // The workers share one iterator: each takes the next item that nobody has begun.
    for (const [index, item] of entries) {
      if (hasFailed) return;
      try {
        results[index] = await map(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  });
  const settled = await Promise.allSettled(workers);
  const failure = settled.find((worker) => worker.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return results;
}

/** Cuts a list into pages of at most `size`. */
export function pagesOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
