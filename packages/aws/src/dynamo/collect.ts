/** Collects what an iteration yields, mapped. */
export async function collect<T, R>(
  items: AsyncIterable<T>,
  map: (item: T) => R,
): Promise<readonly R[]> {
  const all: R[] = [];
  for await (const item of items) all.push(map(item));
  return all;
}
