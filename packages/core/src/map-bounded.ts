/**
 * Maps over items with at most `limit` in flight at once, and returns the results in item order.
 *
 * After an error no further item starts; the error is thrown once the items in flight have settled.
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
    // The workers share one iterator, so each item is mapped once.
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

/** Splits a list into pages of at most `size`. */
export function pagesOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
