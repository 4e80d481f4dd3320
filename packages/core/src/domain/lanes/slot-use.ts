import * as z from 'zod';
import { fairSlots } from './share-slots.ts';

/** A group that neither has a call in flight nor was heard of for so long, ms, does not count any more. */
const GROUP_AGE_MS = 10_000;
/** Callers that were not heard of for so long, ms, do not wait any more. */
export const WAITING_AGE_MS = 5_000;
/** The weight of the last call in the mean time that calls take. */
const LAST_CALL_WEIGHT = 0.1;

const slotGroupSchema = z.strictObject({
  group: z.string(),
  /** What its spec says, which binds all groups of the lane. */
  maxConcurrency: z.int().positive(),
});

/** The groups among which the slots of a lane are shared out; see {@link SlotUse}. */
export const slotGroupsSchema = z.strictObject({
  schemaVersion: z.literal(1),
  lane: z.string(),
  /** By their place; null where a group has left. */
  groups: z.array(slotGroupSchema.nullable()),
  /** Changes with each change of the groups. */
  token: z.string(),
});
/** The groups among which the slots of a lane are shared out; see {@link SlotUse}. */
export type SlotGroups = z.infer<typeof slotGroupsSchema>;

/** A group with what its callers use. */
export interface GroupSlots extends z.infer<typeof slotGroupSchema> {
  /** Slots that it has. */
  readonly inUse: number;
  /** The number of the last caller that has joined its line, from 1. */
  readonly lastJoined: number;
  /** The number of the last caller of the line that has got a slot. */
  readonly lastServed: number;
  /** When it last took or returned a slot, since 1970. */
  readonly usedAtMs: number;
  /** When a caller of it last waited, since 1970. */
  readonly waitedAtMs: number;
}

/** A slot that a caller has taken. */
export interface HeldSlot {
  readonly id: string;
  /** The place of its group. */
  readonly place: number;
  /** It is free from then on, since 1970, unless its holder extends it: its holder has died. */
  readonly untilMs: number;
}

/**
 * The calls in flight of a lane whose specs limit them (`max_concurrency`).
 *
 * A call takes a slot and returns it. While there is none for it, its caller waits in the line of its group: callers have
 * numbers, so that those who came first are served first, and each knows how many are before it.
 */
export interface SlotUse extends Omit<SlotGroups, 'groups'> {
  readonly groups: readonly (GroupSlots | null)[];
  readonly held: readonly HeldSlot[];
  /** Of all groups. */
  readonly inUse: number;
  /** How long calls took of late; null before the first has ended. */
  readonly callMs: number | null;
}

/** Calls in flight at most: the lowest limit of the groups that call the lane. */
export function slotLimit({ groups }: Pick<SlotUse, 'groups'>): number {
  return Math.min(...groups.flatMap((each) => each?.maxConcurrency ?? []));
}

/** The place of a group; undefined if it has none. */
export function slotPlaceOf(
  { groups }: Pick<SlotUse, 'groups'>,
  group: string,
): number | undefined {
  const place = groups.findIndex((each) => each?.group === group);
  return place === -1 ? undefined : place;
}

/** The callers in the line of a group. */
export function waitingCount(turns: GroupSlots, nowMs: number): number {
  const { lastJoined, lastServed, waitedAtMs } = turns;
  return nowMs - waitedAtMs < WAITING_AGE_MS ? Math.max(0, lastJoined - lastServed) : 0;
}

/** Whether callers of any group have waited of late. */
export function hasWaited({ groups }: Pick<SlotUse, 'groups'>, nowMs: number): boolean {
  return groups.some((each) => each !== null && nowMs - each.waitedAtMs < WAITING_AGE_MS);
}

/** What a caller needs to know of the slots of its lane. */
export interface SlotOutlook {
  /** Slots that its group may take now. */
  readonly room: number;
  /** Calls in flight that its group may have. */
  readonly fair: number;
  /** Callers that wait before it. */
  readonly ahead: number;
  /** Between two calls of its group, ms; undefined before the first call of the lane has ended. */
  readonly intervalMs: number | undefined;
}

/**
 * The slots as a caller of the group at a place sees them: all groups that call or wait have the same, but none more than it
 * needs. What is left over goes to each of them in turn.
 *
 * @param number - Of the caller in the line; undefined if it has not joined it.
 */
export function slotOutlook(
  use: SlotUse,
  {
    place,
    number,
    nowMs,
  }: { readonly place: number; readonly number?: number; readonly nowMs: number },
): SlotOutlook {
  const own = use.groups[place];
  const limit = slotLimit(use);
  const demands = use.groups.flatMap((each, index) => {
    if (each === null) return [];
    const waiting = Math.max(waitingCount(each, nowMs), index === place ? 1 : 0);
    return [[index, { group: each.group, inUse: each.inUse, waiting }] as const];
  });
  const fair = fairSlots(demands, limit, nowMs).get(place) ?? 0;
  const inDemand = demands.filter(([, { inUse, waiting }]) => inUse + waiting > 0).length;
  const line = own ? waitingCount(own, nowMs) : 0;
  const ahead = number === undefined ? line : number - (own?.lastServed ?? 0) - 1;
  const share = Math.max(fair, limit / inDemand);
  return {
    room: Math.max(0, Math.min(limit - use.inUse, fair - (own?.inUse ?? 0))),
    fair,
    ahead: Math.max(0, ahead),
    intervalMs: use.callMs === null ? undefined : use.callMs / share,
  };
}

/** The slots whose holders have died. */
export function lapsedSlots({ held }: SlotUse, nowMs: number): readonly HeldSlot[] {
  return held.filter(({ untilMs }) => untilMs <= nowMs);
}

/** The mean time that calls take, after one more. */
export function afterCall({ callMs }: Pick<SlotUse, 'callMs'>, tookMs: number): number {
  return Math.round(callMs === null ? tookMs : callMs + (tookMs - callMs) * LAST_CALL_WEIGHT);
}

/** The groups of a lane with one more, or with another limit in its spec. Those that do not call any more leave. */
export function withSlotGroup(
  use: SlotUse | undefined,
  {
    lane,
    group,
    maxConcurrency,
    nowMs,
    token,
  }: {
    readonly lane: string;
    readonly group: string;
    readonly maxConcurrency: number;
    readonly nowMs: number;
    readonly token: string;
  },
): SlotGroups {
  const groups = (use?.groups ?? []).map((each) => {
    if (each === null || (each.group !== group && isGone(each, nowMs))) return null;
    return { group: each.group, maxConcurrency: each.maxConcurrency };
  });
  const known = groups.findIndex((each) => each?.group === group);
  const free = groups.indexOf(null);
  const place = known !== -1 ? known : free !== -1 ? free : groups.length;
  return {
    schemaVersion: 1,
    lane,
    groups: groups.toSpliced(place, 1, { group, maxConcurrency }),
    token,
  };
}

/** The limit that binds now, and how much of it is used; undefined if no group with a limit calls the lane any more. */
export function slotsInForce(
  use: SlotUse,
  nowMs: number,
): { readonly limit: number; readonly inUse: number } | undefined {
  const groups = use.groups.filter((each) => each !== null && !isGone(each, nowMs));
  if (groups.length === 0) return undefined;
  return { limit: slotLimit({ groups }), inUse: use.inUse - lapsedSlots(use, nowMs).length };
}

/** Whether a group other than this one does not call the lane any more: its limit would still bind. */
export function hasGoneGroup(use: SlotUse, group: string, nowMs: number): boolean {
  return use.groups.some((each) => each !== null && each.group !== group && isGone(each, nowMs));
}

function isGone({ inUse, usedAtMs, waitedAtMs }: GroupSlots, nowMs: number): boolean {
  return inUse === 0 && nowMs - Math.max(usedAtMs, waitedAtMs) >= GROUP_AGE_MS;
}
