import type {
  GroupSlots,
  LaneSlots,
  ReturnRange,
  SlotEnd,
  SlotGroups,
  SlotName,
  SlotTaking,
  SlotUse,
  TakenSlot,
  WaitingCaller,
} from '@thrice/core';

type Method = keyof LaneSlots;

/** The slots of lanes, in memory. */
export class FakeLaneSlots implements LaneSlots {
  /** Names of the calls, in order. */
  readonly log: Method[] = [];
  /** Runs before a method does anything. If it throws, the request fails. */
  onCall: (method: Method) => void | Promise<void> = () => undefined;
  readonly #lanes = new Map<string, SlotUse & { readonly waitedAtMs: number }>();
  readonly #returnsAtMs = new Map<string, number>();

  async read(lane: string): Promise<SlotUse | undefined> {
    await this.#begin('read');
    return this.#read(lane);
  }

  async replace(existing: SlotUse | undefined, next: SlotGroups, nowMs: number): Promise<boolean> {
    await this.#begin('replace');
    const stored = this.#lanes.get(next.lane);
    if (stored?.token !== existing?.token) return false;
    const isKept = (place: number) =>
      stored?.groups[place]?.group !== undefined &&
      stored.groups[place]?.group === next.groups[place]?.group;
    if (stored?.groups.some((each, place) => each !== null && !isKept(place) && each.inUse > 0))
      return false;
    const groups = next.groups.map((each, place): GroupSlots | null => {
      if (each === null) return null;
      const none = { inUse: 0, lastJoined: 0, lastServed: 0, usedAtMs: nowMs, waitedAtMs: 0 };
      return { ...none, ...(isKept(place) ? stored?.groups[place] : {}), ...each };
    });
    const empty = { held: [], inUse: 0, callMs: null, waitedAtMs: 0 };
    this.#lanes.set(next.lane, { ...empty, ...stored, ...next, groups });
    return true;
  }

  async take(lane: string, taken: TakenSlot): Promise<SlotTaking> {
    await this.#begin('take');
    const use = this.#lanes.get(lane);
    if (use?.held.some(({ id }) => id === taken.id))
      return { isTaken: true, use: this.#read(lane) };
    const { id, place, nowMs, untilMs, served, token, limit, groupLimit } = taken;
    const own = use?.groups[place];
    const sinceMs = taken.unlessWaitedSinceMs ?? Number.POSITIVE_INFINITY;
    const isTaken =
      use?.token === token &&
      use.inUse < limit &&
      (own?.inUse ?? 0) < groupLimit &&
      use.waitedAtMs <= sinceMs;
    if (use !== undefined && isTaken) {
      const held = [...use.held, { id, place, untilMs }];
      this.#lanes.set(lane, { ...use, held, inUse: use.inUse + 1 });
      this.#change(lane, place, (group) => ({
        ...group,
        inUse: group.inUse + 1,
        usedAtMs: nowMs,
        lastServed: served ?? group.lastServed,
      }));
    }
    return { isTaken, use: this.#read(lane) };
  }

  async extend(lane: string, { id }: SlotName, untilMs: number): Promise<boolean> {
    await this.#begin('extend');
    const use = this.#lanes.get(lane);
    if (!use?.held.some((each) => each.id === id)) return false;
    const held = use.held.map((each) => (each.id === id ? { ...each, untilMs } : each));
    this.#lanes.set(lane, { ...use, held });
    return true;
  }

  async giveBack(lane: string, slot: SlotName, { nowMs, callMs }: SlotEnd): Promise<void> {
    await this.#begin('giveBack');
    if (!this.#remove(lane, slot)) return;
    this.#change(lane, slot.place, (group) => ({ ...group, usedAtMs: nowMs }));
    const use = this.#lanes.get(lane);
    if (use !== undefined) this.#lanes.set(lane, { ...use, callMs });
  }

  async free(lane: string, slot: SlotName, untilMs: number): Promise<void> {
    await this.#begin('free');
    const held = this.#lanes.get(lane)?.held.find(({ id }) => id === slot.id);
    if (held?.untilMs === untilMs) this.#remove(lane, slot);
  }

  async join(lane: string, waiting: WaitingCaller): Promise<SlotUse> {
    await this.#begin('join');
    this.#noteWaiting(lane, waiting);
    this.#change(lane, waiting.place, (group) => ({ ...group, lastJoined: group.lastJoined + 1 }));
    const use = this.#read(lane);
    if (use === undefined) throw new Error(`expected slots of ${lane}`);
    return use;
  }

  async noteWaiting(lane: string, waiting: WaitingCaller): Promise<void> {
    await this.#begin('noteWaiting');
    this.#noteWaiting(lane, waiting);
  }

  async reserveReturn(
    lane: string,
    { earliestMs, latestMs, intervalMs }: ReturnRange,
  ): Promise<number> {
    await this.#begin('reserveReturn');
    const nextMs = (this.#returnsAtMs.get(lane) ?? 0) + intervalMs;
    const returnAtMs = nextMs >= earliestMs && nextMs <= latestMs ? nextMs : earliestMs;
    this.#returnsAtMs.set(lane, returnAtMs);
    return returnAtMs;
  }

  async #begin(method: Method): Promise<void> {
    this.log.push(method);
    await this.onCall(method);
  }

  #read(lane: string): SlotUse | undefined {
    const stored = this.#lanes.get(lane);
    if (stored === undefined) return undefined;
    const { waitedAtMs: _, ...use } = stored;
    return use;
  }

  #noteWaiting(lane: string, { place, nowMs }: WaitingCaller): void {
    const use = this.#lanes.get(lane);
    if (use !== undefined) this.#lanes.set(lane, { ...use, waitedAtMs: nowMs });
    this.#change(lane, place, (group) => ({ ...group, waitedAtMs: nowMs }));
  }

  #remove(lane: string, { id, place }: SlotName): boolean {
    const use = this.#lanes.get(lane);
    if (!use?.held.some((each) => each.id === id)) return false;
    const held = use.held.filter((each) => each.id !== id);
    this.#lanes.set(lane, { ...use, held, inUse: use.inUse - 1 });
    this.#change(lane, place, (group) => ({ ...group, inUse: group.inUse - 1 }));
    return true;
  }

  #change(lane: string, place: number, change: (group: GroupSlots) => GroupSlots): void {
    const use = this.#lanes.get(lane);
    if (use === undefined) return;
    const groups = use.groups.map((each, index) =>
      each !== null && index === place ? change(each) : each,
    );
    this.#lanes.set(lane, { ...use, groups });
  }
}
