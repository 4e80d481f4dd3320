import { hash } from 'node:crypto';
import type {
  GroupSlots,
  HeldSlot,
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
import { laneSlotsItemSchema, laneSlotsKey, parseItem } from './dynamo-items.ts';
import { type Attributes, DynamoTable, type TableInit } from './dynamo-table.ts';
import { reserveReturn } from './reserve-return.ts';

/** What is counted for a group. Its place follows in the attribute's name. */
type Figure = 'used' | 'joined' | 'served' | 'usedAtMs' | 'waitedAtMs';

const FIGURES: readonly Figure[] = ['used', 'joined', 'served', 'usedAtMs', 'waitedAtMs'];

/**
 * The slots of lanes in the ledger's table, one item per lane that has some.
 *
 * A slot is one attribute, until when it is held, beside the counts that it changes: so it is taken, and returned, by one
 * conditional write that changes all of them or none. Workers that take slots at the same time do not refuse each other as
 * long as there is room for all. Names are short, because DynamoDB bills a write by the size of its item.
 */
export class DynamoLaneSlots implements LaneSlots {
  readonly #table: DynamoTable;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
  }

  async read(lane: string): Promise<SlotUse | undefined> {
    const item = await this.#table.get(laneSlotsKey(lane));
    return item && parseSlots(item, this.#table.name);
  }

  async replace(existing: SlotUse | undefined, next: SlotGroups, nowMs: number): Promise<boolean> {
    const { schemaVersion, lane, token } = next;
    const key = laneSlotsKey(lane);
    const set = {
      schemaVersion,
      token,
      payload: JSON.stringify(next),
      ...newFigures(existing, next, nowMs),
    };
    if (existing === undefined) {
      return await this.#table.put(key, { ...set, inUse: 0, waitedAtMs: 0 }, 'absent');
    }
    const unused = existing.groups.flatMap((each, place) =>
      each !== null && !isKept(existing, next, place) ? [[figure('used', place), 0] as const] : [],
    );
    const { isChanged } = await this.#table.changeOrRead(
      key,
      { set },
      { equal: { token: existing.token, ...Object.fromEntries(unused) } },
    );
    return isChanged;
  }

  async take(lane: string, taken: TakenSlot): Promise<SlotTaking> {
    const { place, nowMs, untilMs, served, token, limit, groupLimit, unlessWaitedSinceMs } = taken;
    const name = slotName(taken);
    const used = figure('used', place);
    const change = {
      set: {
        [name]: untilMs,
        [figure('usedAtMs', place)]: nowMs,
        ...(served !== undefined && { [figure('served', place)]: served }),
      },
      add: { inUse: 1, [used]: 1 },
    };
    const { isChanged, item } = await this.#table.changeOrRead(laneSlotsKey(lane), change, {
      equal: { token },
      lacks: [name],
      atMost: {
        inUse: limit - 1,
        [used]: groupLimit - 1,
        ...(unlessWaitedSinceMs !== undefined && { waitedAtMs: unlessWaitedSinceMs }),
      },
    });
    // Refused although it is taken: the SDK has repeated a request whose response was lost.
    const isTaken = isChanged || item?.[name] !== undefined;
    return { isTaken, use: item && parseSlots(item, this.#table.name) };
  }

  async extend(lane: string, slot: SlotName, untilMs: number): Promise<boolean> {
    const name = slotName(slot);
    const change = { set: { [name]: untilMs } };
    return (await this.#table.changeOrRead(laneSlotsKey(lane), change, { has: [name] })).isChanged;
  }

  async giveBack(lane: string, slot: SlotName, { nowMs, callMs }: SlotEnd): Promise<void> {
    const name = slotName(slot);
    const change = {
      set: { callMs, [figure('usedAtMs', slot.place)]: nowMs },
      ...withoutSlot(slot),
    };
    await this.#table.changeOrRead(laneSlotsKey(lane), change, { has: [name] });
  }

  async free(lane: string, slot: SlotName, untilMs: number): Promise<void> {
    const equal = { [slotName(slot)]: untilMs };
    await this.#table.changeOrRead(laneSlotsKey(lane), withoutSlot(slot), { equal });
  }

  async join(lane: string, { place, nowMs }: WaitingCaller): Promise<SlotUse> {
    const item = await this.#table.updateAndRead(laneSlotsKey(lane), {
      set: waitingAt(place, nowMs),
      add: { [figure('joined', place)]: 1 },
    });
    return parseSlots(item, this.#table.name);
  }

  async noteWaiting(lane: string, { place, nowMs }: WaitingCaller): Promise<void> {
    await this.#table.update(laneSlotsKey(lane), { set: waitingAt(place, nowMs) });
  }

  async reserveReturn(lane: string, range: ReturnRange): Promise<number> {
    return await reserveReturn(this.#table, laneSlotsKey(lane), range);
  }
}

function isKept(existing: SlotUse | undefined, next: SlotGroups, place: number): boolean {
  const [before, after] = [existing?.groups[place], next.groups[place]];
  return before?.group !== undefined && before.group === after?.group;
}

/** The figures of the places that a group has got. */
function newFigures(
  existing: SlotUse | undefined,
  next: SlotGroups,
  nowMs: number,
): Readonly<Record<string, number>> {
  const entries = next.groups.flatMap((group, place) =>
    group === null || isKept(existing, next, place)
      ? []
      : FIGURES.map((each) => [figure(each, place), each === 'usedAtMs' ? nowMs : 0] as const),
  );
  return Object.fromEntries(entries);
}

function waitingAt(place: number, nowMs: number): Readonly<Record<string, number>> {
  return { waitedAtMs: nowMs, [figure('waitedAtMs', place)]: nowMs };
}

function withoutSlot(slot: SlotName) {
  return { add: { inUse: -1, [figure('used', slot.place)]: -1 }, remove: [slotName(slot)] };
}

function figure(name: Figure, place: number): string {
  return `${name}${place}`;
}

/** The attribute of a slot. Its id is kept as it is once it has been read. */
function slotName({ id, place }: SlotName): string {
  const short = id.startsWith('#') ? id : `#${hash('sha256', id, 'hex').slice(0, 12)}`;
  return `slot${place}${short}`;
}

function parseSlots(item: Attributes, tableName: string): SlotUse {
  const { payload, inUse, callMs } = parseItem(laneSlotsItemSchema, item, tableName);
  const { groups, ...rest } = payload;
  const read = (name: Figure, place: number) => Number(item[figure(name, place)] ?? 0);
  const withFigures = groups.map((group, place): GroupSlots | null =>
    group === null
      ? null
      : {
          ...group,
          inUse: read('used', place),
          lastJoined: read('joined', place),
          lastServed: read('served', place),
          usedAtMs: read('usedAtMs', place),
          waitedAtMs: read('waitedAtMs', place),
        },
  );
  return { ...rest, groups: withFigures, held: heldIn(item), inUse, callMs: callMs ?? null };
}

function heldIn(item: Attributes): readonly HeldSlot[] {
  return Object.entries(item).flatMap(([name, untilMs]) => {
    const [, place, id] = /^slot(\d+)(#\w+)$/.exec(name) ?? [];
    return id === undefined ? [] : [{ id, place: Number(place), untilMs: Number(untilMs) }];
  });
}
