import { activeHolders, type Holder, type LaneLimit } from './lane-limit.ts';

/** The holders that share too few slots take turns of so long, ms. */
const ROTATION_MS = 10_000;

/** Calls in flight, of all processes. */
export function callsInFlight(limit: LaneLimit, nowMs: number): number {
  return activeHolders(limit, nowMs).reduce((sum, { inUse }) => sum + inUse, 0);
}

/** Calls in flight at most, of all processes; null without a limit. */
export function concurrencyLimit(limit: LaneLimit, nowMs: number): number | null {
  const limits = activeHolders(limit, nowMs).flatMap(({ maxConcurrency }) => maxConcurrency ?? []);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Calls in flight that a process may have: a fair part of what all may, as far as the others leave it. */
export function slotsOf(limit: LaneLimit, owner: string, nowMs: number): number | null {
  const total = concurrencyLimit(limit, nowMs);
  if (total === null) return null;
  const holders = Object.entries(limit.holders);
  const fair = fairSlots(holders, total, nowMs).get(owner) ?? 0;
  const taken = holders
    .filter(([name]) => name !== owner)
    .reduce((sum, [, { slots, inUse }]) => sum + Math.max(slots ?? 0, inUse), 0);
  return Math.max(0, Math.min(fair, total - taken));
}

/** Gives slots one by one to the group that has the fewest, and in it to the holder that has the fewest. */
export function fairSlots<Key>(
  holders: readonly (readonly [Key, Pick<Holder, 'group' | 'inUse' | 'waiting'>])[],
  total: number,
  nowMs: number,
): ReadonlyMap<Key, number> {
  const turn = Math.floor(nowMs / ROTATION_MS) % Math.max(1, holders.length);
  const inTurn = [...holders.slice(turn), ...holders.slice(0, turn)];
  const slots = new Map(inTurn.map(([owner]) => [owner, 0]));
  const ofGroup = new Map<string, number>();
  const get = (owner: Key) => slots.get(owner) ?? 0;
  const isServed = ([owner, { inUse, waiting }]: (typeof holders)[number]) =>
    get(owner) >= inUse + waiting;
  for (let left = total; left > 0; left -= 1) {
    const unserved = inTurn.filter((each) => !isServed(each));
    // What nobody waits for is spread, so that whoever wants more has it at once.
    const candidates = unserved.length > 0 ? unserved : inTurn;
    const [first, ...others] = candidates;
    if (first === undefined) break;
    const [owner, { group }] = others.reduce((least, each) => {
      const [a, b] = [ofGroup.get(each[1].group) ?? 0, ofGroup.get(least[1].group) ?? 0];
      if (a !== b) return a < b ? each : least;
      return get(each[0]) < get(least[0]) ? each : least;
    }, first);
    slots.set(owner, get(owner) + 1);
    ofGroup.set(group, (ofGroup.get(group) ?? 0) + 1);
  }
  return slots;
}
