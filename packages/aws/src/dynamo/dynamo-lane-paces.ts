import type { CountedCalls, LanePace, LanePaces, ReturnRange, TakenTurns } from '@thrice/core';
import { lanePaceItemSchema, lanePaceKey, parseItem } from './dynamo-items.ts';
import { type Attributes, DynamoTable, type TableInit } from './dynamo-table.ts';
import { reserveReturn } from './reserve-return.ts';

/**
 * The paces of lanes in the ledger's table, one item per lane.
 *
 * Turns are counted with atomic additions, so that 64 workers that take one at the same time need 64 requests, not as
 * many conditional writes as they would refuse each other. Everything else is one text, which only conditional
 * writes change: refusals, and groups that come and go.
 */
export class DynamoLanePaces implements LanePaces {
  readonly #table: DynamoTable;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
  }

  async read(lane: string): Promise<LanePace | undefined> {
    const item = await this.#table.get(lanePaceKey(lane));
    return item && parseLanePace(item, this.#table.name);
  }

  async replace(existing: LanePace | undefined, pace: LanePace): Promise<boolean> {
    const { schemaVersion, lane, token } = pace;
    const set = { schemaVersion, token, payload: JSON.stringify(pace) };
    const counters = changedCounters(existing, pace);
    const key = lanePaceKey(lane);
    if (existing === undefined)
      return await this.#table.put(key, { ...set, ...counters }, 'absent');
    return await this.#table.update(
      key,
      { set: { ...set, ...counters } },
      { token: existing.token },
    );
  }

  async takeTurns(lane: string, place: number, { count, tokens }: TakenTurns): Promise<LanePace> {
    const add = { [turnsAt(place)]: count, [tokensAt(place)]: tokens, callCount: count };
    const item = await this.#table.updateAndRead(lanePaceKey(lane), { add });
    return parseLanePace(item, this.#table.name);
  }

  async count(lane: string, { calls, refusals }: CountedCalls): Promise<LanePace> {
    const add = { callCount: calls, refusalCount: refusals };
    const item = await this.#table.updateAndRead(lanePaceKey(lane), { add });
    return parseLanePace(item, this.#table.name);
  }

  async reserveReturn(lane: string, range: ReturnRange): Promise<number> {
    return await reserveReturn(this.#table, lanePaceKey(lane), range);
  }
}

/** The counters of places that a group has got, or whose last turns it gives up; the others go on. */
function changedCounters(
  existing: LanePace | undefined,
  { groups }: LanePace,
): Readonly<Record<string, number>> {
  const changed = groups.flatMap((turns, place) => {
    const before = existing?.groups[place];
    const isKept = turns?.group === before?.group && turns && before;
    if (turns === null || (isKept && turns.lastTurn >= before.lastTurn)) return [];
    return [
      [turnsAt(place), turns.lastTurn],
      [tokensAt(place), turns.lastTokens],
    ];
  });
  return Object.fromEntries(changed) as Readonly<Record<string, number>>;
}

function turnsAt(place: number): string {
  return `turns${place}`;
}

function tokensAt(place: number): string {
  return `tokens${place}`;
}

/** Parses the item of a lane's pace. */
export function parseLanePace(item: Attributes, tableName: string): LanePace {
  const parsed = parseItem(lanePaceItemSchema, item, tableName);
  const { payload: pace, callCount, refusalCount } = parsed;
  const groups = pace.groups.map((turns, place) => {
    const [lastTurn, lastTokens] = [item[turnsAt(place)], item[tokensAt(place)]].map(Number);
    return turns && { ...turns, lastTurn: lastTurn ?? 0, lastTokens: lastTokens ?? 0 };
  });
  return { ...pace, callCount, refusalCount, groups };
}
