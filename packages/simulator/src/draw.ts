import type { Random } from '@thrice/core';

/** Draws from the standard normal distribution (Box-Muller), using two numbers of the stream. */
export function drawNormal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/**
 * Picks a random item.
 *
 * @param items - At least one; returns `undefined` for an empty list.
 */
export function pickItem<Item>(random: Random, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random() * items.length)];
}
