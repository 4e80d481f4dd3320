import type { Price } from '../domain/price.ts';
import { builtinPriceLists } from './builtin-prices.ts';

/**
 * How vendors name the dated snapshots of a model, which cost what the model costs unless they have a price of their own.
 * Where a date names another model, as with Mistral, or nothing is documented, there is no rule.
 *
 * @see https://developers.openai.com/api/docs/models (2026-11): `gpt-5.2-2025-12-11` is a snapshot of `gpt-5.2`
 * @see https://platform.claude.com/docs/en/about-claude/models/overview (2026-11): `claude-haiku-4-5-20251001`
 */
const SNAPSHOT_SUFFIXES: Readonly<Record<string, RegExp>> = {
  openai: /-\d{4}-\d{2}-\d{2}$/,
  anthropic: /-\d{8}$/,
};

/**
 * Returns the built-in price of a model: the one under its name, or else, for a dated snapshot, that of its model.
 *
 * @param lane - The built-in lane.
 * @returns Undefined if it is unknown.
 */
export function builtinPrice(lane: string, model: string): Price | undefined {
  const suffix = SNAPSHOT_SUFFIXES[lane];
  return find(lane, model) ?? (suffix && find(lane, model.replace(suffix, '')));
}

function find(lane: string, model: string): Price | undefined {
  const lists = builtinPriceLists.filter((list) => list.lane === lane);
  return lists.find(({ prices }) => Object.hasOwn(prices, model))?.prices[model];
}
