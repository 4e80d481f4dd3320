import { toJsonText } from './find-json.ts';

/** Whether two values are the same, whatever the order of their keys. */
export function isEqualJson(left: unknown, right: unknown): boolean {
  return shareOfEqual(left, right) === 1;
}

/**
 * The share of the leaves of two values, by their places, that both have alike: 1 exactly for equal values. What one has
 * and the other lacks counts as different. An empty list or table is a leaf. Takes time in proportion to both values.
 */
export function shareOfEqual(left: unknown, right: unknown): number {
  const { equal, places } = compare(left, right);
  return equal / places;
}

/** How many different values there are. */
export function countDifferent(values: readonly unknown[]): number {
  return new Set(values.map(textOf)).size;
}

/** A list or a table with at least one item. */
type Branch = Readonly<Record<string, unknown>>;

/** The leaves that two values have alike, and the places at which one of them has a leaf. */
interface Compared {
  readonly equal: number;
  readonly places: number;
}

function compare(left: unknown, right: unknown): Compared {
  const isOfOneKind = Array.isArray(left) === Array.isArray(right);
  if (isBranch(left) && isBranch(right) && isOfOneKind) return compareItems(left, right);
  if (isBranch(left) || isBranch(right))
    return { equal: 0, places: countLeaves(left) + countLeaves(right) };
  return { equal: Number(textOf(left) === textOf(right)), places: 1 };
}

function compareItems(left: Branch, right: Branch): Compared {
  let [equal, places] = [0, 0];
  for (const [key, item] of Object.entries(left)) {
    const both = Object.hasOwn(right, key)
      ? compare(item, right[key])
      : { equal: 0, places: countLeaves(item) };
    equal += both.equal;
    places += both.places;
  }
  for (const [key, item] of Object.entries(right))
    if (!Object.hasOwn(left, key)) places += countLeaves(item);
  return { equal, places };
}

function countLeaves(value: unknown): number {
  if (!isBranch(value)) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + countLeaves(item), 0);
}

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** A text that equal values have in common. That 1.0 and 1 are equal is in it; a whole number of many digits has none but its own. */
function textOf(value: unknown): string {
  if (!isBranch(value)) return `${typeof value} ${toJsonText(value)}`;
  const items = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(key)}:${textOf(item)}`,
  );
  return `${Array.isArray(value) ? 'list' : 'table'}{${items.toSorted().join(',')}}`;
}
