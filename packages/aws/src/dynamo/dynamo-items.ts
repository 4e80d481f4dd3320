import { type CellKey, groupStateSchema, ThriceError } from '@thrice/core';
import * as z from 'zod';
import type { Attributes, ItemKey } from './dynamo-table.ts';
import { payloadSchema } from './payload-store.ts';

/**
 * The items of the ledger's table, `docs/formats.md`.
 *
 * Conditions look at plain attributes only; everything else is JSON text. `expiresAt` (seconds since
 * 1970) is reserved for DynamoDB's time to live; nothing writes it yet.
 */
const itemSchema = z.object({ schemaVersion: z.literal(1) });

/** A claimed cell; its payload is its result. */
export const cellItemSchema = itemSchema.extend({
  sk: z.string(),
  id: z.string(),
  state: z.enum(['claimed', 'released', 'done']),
  generation: z.int(),
  owner: z.string().optional(),
  leaseUntilMs: z.number(),
  /** Which call of `claimCell` took the lease last. */
  leaseToken: z.string(),
  attempts: z.int(),
  attemptLog: z.string().optional(),
  outcome: z.string().optional(),
  /** Which call of `completeCell` wrote the latest result. */
  completionToken: z.string().optional(),
  ...payloadSchema.shape,
});
/** A claimed cell. */
export type CellItem = z.infer<typeof cellItemSchema>;

/** A call; its payload is its journal entry. */
export const callItemSchema = itemSchema.extend(payloadSchema.shape);

/** A group; its payload is its header. */
export const groupItemSchema = itemSchema.extend({
  group: z.string(),
  createdAt: z.string(),
  state: groupStateSchema,
  /** 1 once all tasks have been sent. */
  isPlanned: z.number(),
  /** Which call of `createGroup` made it. */
  creationToken: z.string(),
  ...payloadSchema.shape,
});

/** A line of the list of groups: points at a group, which may not have come to be. */
export const groupListItemSchema = itemSchema.extend({ group: z.string(), createdAt: z.string() });

/** The tally of a config in a run. */
export const tallyItemSchema = itemSchema.extend({
  run: z.string(),
  config: z.string(),
  scored: z.number(),
  unparsed: z.number(),
  ungraded: z.number(),
  failed: z.number(),
  correct: z.number(),
  costUsd: z.number(),
  retries: z.number(),
  /** How often it was written: costs add up to decimals that no double holds, so none can be compared. */
  changeCount: z.number(),
});
/** The tally of a config in a run. */
export type TallyItem = z.infer<typeof tallyItemSchema>;

/** A blocked lane or model; its payload is its open breaker. */
export const breakerItemSchema = itemSchema.extend(payloadSchema.shape);

/** A line of the list of lanes and models that were ever closed. */
export const laneListItemSchema = itemSchema.extend({ breakerKey: z.string() });

/** A group whose results are not written yet, or are out of date. */
export const activeGroupItemSchema = itemSchema.extend({ group: z.string(), token: z.string() });

/** Cells of a group that wait for a lane or model. */
export const deferredItemSchema = itemSchema.extend({
  breakerKey: z.string(),
  group: z.string(),
  token: z.string(),
});

/** The partition of the groups that the reconciler looks after. */
export const ACTIVE_GROUPS = 'active-groups';
/** The partition of what waits for a lane or model to open again. */
export const DEFERRED_CELLS = 'deferred';
/** The partition that lists the groups. */
export const GROUP_LIST = 'groups';
/** The partition that lists what was ever closed. */
export const LANE_LIST = 'lanes';
/** What the sort keys of tallies begin with. */
export const TALLY_PREFIX = 'tally#';

/** The key of a cell. Only a key's last part may hold a `#`: no two cells share an item. */
export function cellItemKey({ run, config, id }: CellKey): ItemKey {
  return { pk: cellPartition(run, config), sk: `cell#${id}` };
}

/** The key of a call. */
export function callItemKey(key: CellKey, step: string): ItemKey {
  const { pk, prefix } = callsOf(key);
  return { pk, sk: `${prefix}${step}` };
}

/** Where the calls of a cell are. */
export function callsOf({ run, config, id }: CellKey): {
  readonly pk: string;
  readonly prefix: string;
} {
  return { pk: cellPartition(run, config), prefix: `call#${id}#` };
}

/** The key of a group. */
export function groupItemKey(group: string): ItemKey {
  return { pk: `group#${group}`, sk: 'group' };
}

/** The key of a group's line in the list. */
export function groupListKey(group: string, createdAt: string): ItemKey {
  return { pk: GROUP_LIST, sk: `${createdAt}#${group}` };
}

/** The partition of a run's tallies. */
export function runPartition(run: string): string {
  return `run#${run}`;
}

/** The key of a tally. */
export function tallyItemKey(run: string, config: string): ItemKey {
  return { pk: runPartition(run), sk: `${TALLY_PREFIX}${config}` };
}

/** The key of an open breaker. */
export function breakerItemKey(breakerKey: string): ItemKey {
  return { pk: `lane#${breakerKey}`, sk: 'state' };
}

/** The key of a lane's or model's line in the list. */
export function laneListKey(breakerKey: string): ItemKey {
  return { pk: LANE_LIST, sk: breakerKey };
}

/**
 * Reads an item by its schema.
 *
 * @throws {ThriceError} `store-unusable` for an item that is damaged or of a newer version.
 */
export function parseItem<T>(schema: z.ZodType<T>, item: Attributes, table: string): T {
  const parsed = schema.safeParse(item);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new ThriceError({
    code: 'store-unusable',
    message: `${table}: item ${item['pk']} / ${item['sk']}: expected schemaVersion 1, received something else in ${paths}; it is damaged or of a newer version`,
    cause: parsed.error,
  });
}

function cellPartition(run: string, config: string): string {
  return `${run}#${config}`;
}
