import { hash } from 'node:crypto';
import {
  type BudgetAccount,
  budgetAccountSchema,
  type CallKey,
  type Reservation,
  reservationSchema,
} from '@thrice/core';
import * as z from 'zod';
import type { Attributes, ItemKey } from './dynamo-table.ts';

/**
 * The item with what a group may spend, and its attributes: for each account its figures, for each reservation its text.
 *
 * Names and texts are short, because DynamoDB bills each write by the size of the whole item.
 */

/** A figure of an account. The lane follows in the attribute's name; nothing for the whole group. */
type Figure = 'cap' | 'left' | 'spent' | 'kept' | 'keptCount' | 'warned' | 'refused';

const SEPARATOR = ':';
const OPEN_PREFIX = 'open:';
const KEPT_PREFIX = 'unknown:';
/** Stands for the name of the owner, with which most call ids begin. */
const OWN = '~';
/** Prefix of the sort keys of kept reservations that have left the item. */
export const KEPT_ROW_PREFIX = 'kept#';

/** The most calls of a group in flight: an item holds 400 KB, and one of them takes some 160 bytes of it, or up to 520. */
export const MAX_OPEN = 700;
/** The most kept reservations in the item; it is written for each call, and they are not needed for that. */
export const MAX_KEPT = 32;

const packedSchema = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.string(),
  z.number(),
  z.number(),
]);

/** The partition of what a group may spend. A group name never contains `#`. */
export function budgetPartition(group: string): string {
  return `budget#${group}`;
}

/** The key of the item with the accounts of a group and its reservations. */
export function budgetKey(group: string): ItemKey {
  return { pk: budgetPartition(group), sk: 'accounts' };
}

/** The key of a kept reservation that has left that item. */
export function keptRowKey(group: string, id: string): ItemKey {
  return { pk: budgetPartition(group), sk: `${KEPT_ROW_PREFIX}${id}` };
}

/** The name of a figure of the account of a lane, or of the whole group. */
export function figureName(figure: Figure, lane: string | null): string {
  return `${figure}${SEPARATOR}${lane ?? ''}`;
}

/** Identifies a reservation in the item of its group; short, because DynamoDB bills names. */
export function reservationId({ cell: { run, config, id }, step, callId }: CallKey): string {
  return hash('sha256', JSON.stringify([run, config, id, step, callId]), 'hex').slice(0, 20);
}

/** The attribute that holds a reservation. */
export function reservationName(id: string, isKept: boolean): string {
  return `${isKept ? KEPT_PREFIX : OPEN_PREFIX}${id}`;
}

/** A reservation as text, without its state. */
export function packReservation(reservation: Omit<Reservation, 'isKept'>): string {
  const { run, config, id, step, callId, lane, owner, amountNanoUsd, untilMs } = reservation;
  const ownId = callId.startsWith(owner) ? OWN + callId.slice(owner.length) : callId;
  return JSON.stringify([run, config, id, step, ownId, lane, owner, amountNanoUsd, untilMs]);
}

/** Parses what {@link packReservation} has written. */
export function unpackReservation(text: string, isKept: boolean): Reservation {
  const [run, config, id, step, ownId, lane, owner, amountNanoUsd, untilMs] = packedSchema.parse(
    JSON.parse(text),
  );
  const callId = ownId.startsWith(OWN) ? owner + ownId.slice(OWN.length) : ownId;
  const call = { run, config, id, step, callId };
  return reservationSchema.parse({ ...call, lane, owner, amountNanoUsd, untilMs, isKept });
}

/** The reservations in an item, open ones or kept ones, by id. */
export function reservationsIn(
  item: Attributes,
  isKept: boolean,
): ReadonlyMap<string, Reservation> {
  const prefix = reservationName('', isKept);
  const texts = Object.entries(item).filter(([name]) => name.startsWith(prefix));
  return new Map(
    texts.map(([name, text]) => [
      name.slice(prefix.length),
      unpackReservation(String(text), isKept),
    ]),
  );
}

/** Finds a reservation in an item, in either state. */
export function findReservation(item: Attributes, id: string): Reservation | undefined {
  for (const isKept of [false, true]) {
    const text = item[reservationName(id, isKept)];
    if (text !== undefined) return unpackReservation(String(text), isKept);
  }
  return undefined;
}

/** The accounts in an item, that of the whole group first. */
export function accountsIn(item: Attributes): readonly BudgetAccount[] {
  const prefix = figureName('left', null);
  const names = Object.keys(item).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => name.slice(prefix.length))
    .toSorted()
    .map((lane) => parseAccount(item, lane === '' ? null : lane));
}

function parseAccount(item: Attributes, lane: string | null): BudgetAccount {
  const read = (figure: Figure): number | null => {
    const value = item[figureName(figure, lane)];
    return value === undefined ? null : Number(value);
  };
  const capNanoUsd = read('cap');
  const spentNanoUsd = read('spent') ?? 0;
  return budgetAccountSchema.parse({
    lane,
    capNanoUsd,
    spentNanoUsd,
    reservedNanoUsd: (capNanoUsd ?? 0) - (read('left') ?? 0) - spentNanoUsd,
    keptNanoUsd: read('kept') ?? 0,
    keptCount: read('keptCount') ?? 0,
    isWarned: read('warned') === 1,
    refusedNanoUsd: read('refused'),
    capEditCount: Number(item['capEditCount']),
    editCount: Number(item['editCount']),
  });
}

/** The attributes of an account that calls change. */
export function figuresOf(account: BudgetAccount): Attributes {
  const { lane, capNanoUsd, spentNanoUsd, reservedNanoUsd, keptNanoUsd, keptCount } = account;
  return {
    // Without a cap it counts down from zero.
    [figureName('left', lane)]: (capNanoUsd ?? 0) - spentNanoUsd - reservedNanoUsd,
    [figureName('spent', lane)]: spentNanoUsd,
    [figureName('kept', lane)]: keptNanoUsd,
    [figureName('keptCount', lane)]: keptCount,
  };
}

/** What a change of an account without anything on it adds to those of the group and of a lane. */
export function additionsOf(change: BudgetAccount, lane: string): Readonly<Record<string, number>> {
  const figures = [null, lane].map((each) =>
    figuresOf({ ...change, capNanoUsd: null, lane: each }),
  );
  return Object.assign({}, ...figures) as Readonly<Record<string, number>>;
}
