import { toJsonText } from './find-json.ts';

/** Whether two values are the same, whatever the order of their keys. */
export function isEqualJson(left: unknown, right: unknown): boolean {
  return shareOfEqual(left, right) === 1;
}

/**
 * The share of the leaves of two values, by their places, that both have alike: 1 exactly for equal values. What one has
 * and the other lacks counts as different. An empty list or table is a leaf.
 */
export function shareOfEqual(left: unknown, right: unknown): number {
  const [ofLeft, ofRight] = [leavesOf(left), leavesOf(right)];
  const equal = [...ofLeft].filter(([place, leaf]) => ofRight.get(place) === leaf).length;
  const places = new Set([...ofLeft.keys(), ...ofRight.keys()]);
  return equal / places.size;
}

/** How many different values there are. */
export function countDifferent(values: readonly unknown[]): number {
  const texts = values.map((value) =>
    JSON.stringify([...leavesOf(value)].map((leaf) => JSON.stringify(leaf)).toSorted()),
  );
  return new Set(texts).size;
}

/** The text of each leaf, by its place. */
function leavesOf(
  value: unknown,
  place = '',
  leaves = new Map<string, string>(),
): Map<string, string> {
  const items = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  // That 1.0 and 1 are equal is in their text; a whole number of many digits has none but its own.
  if (items.length === 0) leaves.set(place, `${typeof value} ${toJsonText(value)}`);
  const mark = Array.isArray(value) ? 'item' : 'key';
  for (const [key, item] of items)
    leavesOf(item, `${place}/${mark} ${JSON.stringify(key)}`, leaves);
  return leaves;
}
