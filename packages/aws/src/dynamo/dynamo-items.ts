import { hash } from 'node:crypto';
import {
  type CellKey,
  groupStateSchema,
  type JournalEntry,
  laneStateSchema,
  type Notification,
  type SharedCall,
  ThriceError,
} from '@thrice/core';
import * as z from 'zod';
import type { Attributes, ItemKey } from './dynamo-table.ts';
import { payloadSchema } from './payload-store.ts';

/**
 * The items of the ledger's table; see `docs/formats/stage.md`.
 *
 * Attributes used in conditions are stored as they are; everything else is JSON text. DynamoDB removes an item
 * some time after its `expiresAt`, seconds since 1970.
 */
const itemSchema = z.object({ schemaVersion: z.literal(1) });

/** The schema of an attribute that has JSON text of another schema. */
function jsonTextOf<T>(schema: z.ZodType<T>) {
  const parsed = z.string().transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue('expected JSON');
      return z.NEVER;
    }
  });
  return parsed.pipe(schema);
}

/** A claimed cell; its payload is its result. */
export const cellItemSchema = itemSchema.extend({
  sk: z.string(),
  id: z.string(),
  state: z.enum(['claimed', 'released', 'done']),
  generation: z.int(),
  owner: z.string().optional(),
  leaseUntilMs: z.number(),
  /** Identifies the `claimCell` call that last took the lease. */
  leaseToken: z.string(),
  attempts: z.int(),
  attemptLog: z.string().optional(),
  givenUp: z.string().optional(),
  outcome: z.string().optional(),
  /** Identifies the `completeCell` call that wrote the latest result. */
  completionToken: z.string().optional(),
  ...payloadSchema.shape,
});
/** A claimed cell. */
export type CellItem = z.infer<typeof cellItemSchema>;

/** A call, discarded or not; its payload is its journal entry. */
export const entryItemSchema = itemSchema.extend(payloadSchema.shape);

/** A discarded call; its payload is its journal entry. */
export const discardedItemSchema = itemSchema.extend({ id: z.string(), ...payloadSchema.shape });

/** The latest submission of a step, stored as its payload. */
export const submissionItemSchema = itemSchema.extend({
  callId: z.string(),
  state: z.string(),
  ...payloadSchema.shape,
});

/** Which step of a cell buys, or has bought, a call that the cells of a run share. */
export const sharedCallItemSchema = itemSchema.extend({
  /** JSON text. */
  buyer: z.string(),
  claimedAtMs: z.number(),
  /** Identifies the `claimCall` call that last wrote it. */
  token: z.string(),
});
/** Which step of a cell buys, or has bought, a call that the cells of a run share. */
export type SharedCallItem = z.infer<typeof sharedCallItemSchema>;

/** A group; its payload is its header. */
export const groupItemSchema = itemSchema.extend({
  group: z.string(),
  createdAt: z.string(),
  state: groupStateSchema,
  /** 1 once all tasks have been sent. */
  isPlanned: z.number(),
  /** The number of edits of its header. */
  editCount: z.int(),
  /** Identifies the `createGroup` call that created the group. */
  creationToken: z.string(),
  ...payloadSchema.shape,
});

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
  wasteUsd: z.number().default(0),
  overheadUsd: z.number().default(0),
  unpricedCalls: z.number().default(0),
  toGrade: z.number().default(0),
  /** Number of writes. Conditions compare this count because summed costs may not be exact doubles. */
  changeCount: z.number(),
});
/** The tally of a config in a run. */
export type TallyItem = z.infer<typeof tallyItemSchema>;

/** The open breaker of a lane or model, stored as its payload. */
export const breakerItemSchema = itemSchema.extend(payloadSchema.shape);

/** What is known of the limits of a lane. */
export const laneStateItemSchema = itemSchema.extend({
  payload: jsonTextOf(laneStateSchema),
  /** That of the payload, for conditions. */
  revision: z.int(),
});

/** An entry in the list of lanes and models whose breaker has ever been open. */
export const laneListItemSchema = itemSchema.extend({ breakerKey: z.string() });

/** A group whose results are missing or out of date. */
export const activeGroupItemSchema = itemSchema.extend({
  group: z.string(),
  addedAt: z.iso.datetime(),
  token: z.string(),
});

/** Cells of a group that wait for a breaker to close. */
export const deferredItemSchema = itemSchema.extend({
  breakerKey: z.string(),
  group: z.string(),
  token: z.string(),
});

/** A note of a resent task, stored as its payload. */
export const resendNoteItemSchema = itemSchema.extend({ payload: z.string() });
/** A notification that is not sent yet, stored as its payload. */
export const notificationItemSchema = itemSchema.extend({ payload: z.string() });
/** The mark of a notification that was ever recorded. */
export const notificationMarkSchema = itemSchema.extend({ isSettled: z.number() });
/** The group that the reconciler served last when a round ran out of time. */
export const lastServedItemSchema = itemSchema.extend({ group: z.string() });

/** Work on a group that goes in parts. */
export const workItemSchema = itemSchema.extend({
  /** Identifies the part that was claimed last. */
  owner: z.string(),
  /** The request that it serves. */
  requestId: z.string(),
  leaseUntilMs: z.number(),
  checkpoint: z.string().optional(),
  /** Claims since the last checkpoint. */
  claimCount: z.int(),
});
/** Work on a group that goes in parts. */
export type WorkItem = z.infer<typeof workItemSchema>;

/** The partition of active groups. */
export const ACTIVE_GROUPS = 'active-groups';
/** The partition of deferred cells. */
export const DEFERRED_CELLS = 'deferred';
/** The partition of the list of groups. */
export const GROUP_LIST = 'groups';
/** The partition of the list of lanes and models whose breaker has ever been open. */
export const LANE_LIST = 'lanes';
/** Prefix of the sort keys of calls that answer their step. */
export const CALL_PREFIX = 'call#';
/** Prefix of the sort keys of discarded calls. */
export const DISCARDED_PREFIX = 'discarded#';
/** The partition of what the reconciler remembers from round to round. */
export const RECONCILER = 'reconciler';
/** The partition of the notifications that are not sent yet. */
export const NOTIFICATIONS = 'notifications';
/** Prefix of the sort keys of the marks of notifications. */
export const NOTIFICATION_PREFIX = 'notification#';
/** Prefix of the sort keys of tallies. */
export const TALLY_PREFIX = 'tally#';

const HEX_DIGITS = '0123456789abcdef';

/** The key of a cell. Only the last part may contain `#`, so keys of different cells never collide. */
export function cellItemKey(key: CellKey): ItemKey {
  return { pk: cellPartition(key), sk: `cell#${key.id}` };
}

/** The key of a call. */
export function callItemKey(key: CellKey, step: string): ItemKey {
  const { pk, prefix } = callsOf(key);
  return { pk, sk: `${prefix}${step}` };
}

/** The partition and sort key prefix of a cell's calls. */
export function callsOf(key: CellKey): { readonly pk: string; readonly prefix: string } {
  return { pk: cellPartition(key), prefix: `${CALL_PREFIX}${key.id}#` };
}

/** The key of a discarded call. */
export function discardedItemKey(key: CellKey, { step, callId }: JournalEntry): ItemKey {
  return { pk: cellPartition(key), sk: `${DISCARDED_PREFIX}${key.id}#${step}#${callId}` };
}

/** The key of the latest submission of a step. */
export function submissionItemKey(key: CellKey, step: string): ItemKey {
  const { pk, prefix } = submissionsOf(key);
  return { pk, sk: `${prefix}${step}` };
}

/** The partition and sort key prefix of a cell's submissions. */
export function submissionsOf(key: CellKey): { readonly pk: string; readonly prefix: string } {
  return { pk: cellPartition(key), prefix: `submission#${key.id}#` };
}

/** The key of a call that the cells of a run share. */
export function sharedCallKey({ run, config, fingerprint, sample }: SharedCall): ItemKey {
  const sk = [fingerprint, sample, ...(config === null ? [] : [config])].join('#');
  return { pk: `cache#${run}#${fingerprint.slice(0, 1)}`, sk };
}

/** The partitions of the calls that the cells of a run share. */
export function responseCachePartitions(run: string): readonly string[] {
  return [...HEX_DIGITS].map((part) => `cache#${run}#${part}`);
}

/** The key of a group. */
export function groupItemKey(group: string): ItemKey {
  return { pk: `group#${group}`, sk: 'group' };
}

/** What the sort keys of work in parts begin with. */
export const WORK_PREFIX = 'work#';

/** The key of work on a group that goes in parts. */
export function workItemKey(group: string, work: string): ItemKey {
  return { pk: `group#${group}`, sk: `${WORK_PREFIX}${work}` };
}

type NotificationName = Pick<Notification, 'group' | 'key'>;

/** The key of the mark of a notification, beside its group. */
export function notificationMarkKey({ group, key }: NotificationName): ItemKey {
  return { pk: `group#${group}`, sk: `${NOTIFICATION_PREFIX}${key}` };
}

/** The key of a notification that is not sent yet. A group name never contains `#`. */
export function notificationListKey({ group, key }: NotificationName): ItemKey {
  return { pk: NOTIFICATIONS, sk: `${group}#${key}` };
}

/** The key of a group's entry in the list of groups. */
export function groupListKey(group: string, createdAt: string): ItemKey {
  return { pk: GROUP_LIST, sk: `${createdAt}#${group}` };
}

/** Reads an entry of the list of groups. The group itself may be missing if its creator crashed. */
export function parseGroupListKey({ sk }: Attributes): {
  readonly group: string;
  readonly createdAt: string;
} {
  const [createdAt = '', ...group] = String(sk).split('#');
  return { group: group.join('#'), createdAt };
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

/** The key of what is known of the limits of a lane. */
export function laneStateKey(lane: string): ItemKey {
  return { pk: `lane#${lane}`, sk: 'limits' };
}

/** The key of a lane's or model's entry in the list of breakers. */
export function laneListKey(breakerKey: string): ItemKey {
  return { pk: LANE_LIST, sk: breakerKey };
}

/**
 * Parses an item.
 *
 * @throws {ThriceError} `store-unusable` if the item is damaged or was written by a newer version.
 */
export function parseItem<T>(schema: z.ZodType<T>, item: Attributes, table: string): T {
  const parsed = schema.safeParse(item);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new ThriceError({
    code: 'store-unusable',
    message: `${table}: item ${item['pk']} / ${item['sk']}: expected a schemaVersion 1 item, received invalid values in ${paths}; it is damaged or was written by a newer version of Thrice`,
    cause: parsed.error,
  });
}

/**
 * The partitions of the cells of a config in a run: all 16, or those that hold the given cells.
 *
 * @param ids - The cells to read. @default all
 */
export function cellPartitions(
  run: string,
  config: string,
  ids?: readonly string[],
): readonly string[] {
  const parts = ids === undefined ? [...HEX_DIGITS] : new Set(ids.map(partOf));
  return [...parts].map((part) => `${run}#${config}#${part}`);
}

/**
 * The partition of a cell and its calls.
 *
 * DynamoDB serves 1,000 write units a second of one partition, which is 167 answers; of 16, 2,667.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-key-range-limit-exceeded-mitigation.html (2026-11)
 */
export function cellPartition({ run, config, id }: CellKey): string {
  return `${run}#${config}#${partOf(id)}`;
}

/** The first hex digit of the id's sha256. */
function partOf(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 1);
}
