import {
  type BudgetAccount,
  type BudgetCaps,
  type Budgets,
  type CallKey,
  type Clock,
  type CountedJournal,
  countAccounts,
  emptyAccount,
  haveLaterCaps,
  isAwaited,
  isBudgetReached,
  isWarningDue,
  mapBounded,
  type Reservation,
  type Reserving,
  reserveOn,
  settleOn,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import {
  accountsIn,
  additionsOf,
  budgetKey,
  budgetPartition,
  figureName,
  figuresOf,
  findReservation,
  KEPT_ROW_PREFIX,
  keptRowKey,
  MAX_KEPT,
  MAX_OPEN,
  packReservation,
  reservationId,
  reservationName,
  reservationsIn,
  unpackReservation,
} from './budget-items.ts';
import type { CallItems } from './call-items.ts';
import type { Attributes, Change, DynamoTable, Guards } from './dynamo-table.ts';
import { type LedgerTableInit, openLedgerTable } from './ledger-table.ts';

const SCHEMA_VERSION = 1;
/** How many calls are remembered until they are settled. */
const MAX_REMEMBERED = 1_000;
/** How often a write may be refused because of others. */
const MAX_REFUSALS = 10;
/** Configs of runs whose calls are read concurrently. */
const MAX_CONCURRENT_READS = 8;

/**
 * The budgets of groups in the ledger's table, one item for each.
 *
 * The item has the accounts of the group and of its lanes, and the reservations that count on them. So a call is reserved, and
 * settled, by one conditional write that changes all of them or none: there is no moment at which a kill leaves a
 * reservation without its call's name, or half of one. A reservation is open --its call's cost is known--> gone, or --the
 * cost will not be known--> kept --it is known after all--> gone. Each step requires the state that it ends, so that a
 * request that the SDK repeats, because its response was lost, changes nothing.
 *
 * An account is stored as what is left of its cap, because conditions compare attributes but do not add them. Without a cap it
 * counts down from zero, and no condition asks for it.
 *
 * DynamoDB bills a write by the size of its item, and takes 1,000 units a second for one: see docs/cloud.md. So the oldest of
 * many kept reservations move to items of their own; their cost does not become known any more.
 */
export class DynamoBudgets implements Budgets {
  readonly #table: DynamoTable;
  readonly #calls: CallItems;
  readonly #clock: Clock;
  /** What this process has reserved and not settled, so that it need not be read for that. */
  readonly #remembered = new Map<string, Reservation>();

  constructor(init: LedgerTableInit) {
    const { table, calls, clock } = openLedgerTable(init);
    this.#table = table;
    this.#calls = calls;
    this.#clock = clock;
  }

  async open(group: string, journal: CountedJournal): Promise<number> {
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const item = await this.#read(group);
      if (item !== undefined && Number(item['editCount']) >= journal.editCount) return 0;
      const before = item === undefined ? [] : accountsIn(item);
      const reservations = item === undefined ? [] : await this.#readReservations(group, item);
      const calls = await this.#costsOf(journal, reservations);
      const unknownCount = calls.filter(({ costUsd }) => costUsd === null).length;
      if (unknownCount > 0) return unknownCount;
      const { editCount } = journal;
      const accounts = countAccounts({ before, calls, reservations, editCount });
      if (await this.#writeAccounts(group, item, accounts, editCount)) return 0;
    }
    throw new ThriceError({
      code: 'store-unavailable',
      message: `budget of ${group}: its calls ended faster than they could be counted; cancel the group, wait for its calls, and try again`,
    });
  }

  /** The costs of the calls that have no reservation. */
  async #costsOf(
    { runs, configs, costOf }: CountedJournal,
    reservations: readonly Reservation[],
  ): Promise<readonly { readonly lane: string; readonly costUsd: number | null }[]> {
    const known = new Set(reservations.map((each) => reservationId(toKey(each))));
    const places = runs.flatMap((run) => configs.map((config) => ({ run, config })));
    const costs = await mapBounded(places, MAX_CONCURRENT_READS, async ({ run, config }) => {
      const ofConfig: { readonly lane: string; readonly costUsd: number | null }[] = [];
      for await (const { id, entry } of this.#calls.list(run, config)) {
        const { step, callId, call } = entry;
        if (known.has(reservationId({ cell: { run, config, id }, step, callId }))) continue;
        ofConfig.push({ lane: call.lane, costUsd: costOf(call) });
      }
      return ofConfig;
    });
    return costs.flat();
  }

  /** Returns false if the item has changed since it was read. */
  async #writeAccounts(
    group: string,
    item: Attributes | undefined,
    accounts: readonly BudgetAccount[],
    editCount: number,
  ): Promise<boolean> {
    const figures = Object.assign({ editCount }, ...accounts.map(figuresOf)) as Attributes;
    if (item === undefined) {
      const counts = { schemaVersion: SCHEMA_VERSION, revision: 0, capEditCount: 0, openCount: 0 };
      return await this.#table.put(budgetKey(group), { ...counts, ...figures }, 'absent');
    }
    const change = { set: figures, add: { revision: 1 } };
    return await this.#table.update(budgetKey(group), change, {
      revision: Number(item['revision']),
    });
  }

  async setCaps(group: string, caps: BudgetCaps, editCount: number): Promise<void> {
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const item = await this.#read(group);
      if (item === undefined || haveLaterCaps(accountsIn(item), editCount)) return;
      if (await this.#changeCaps(group, item, { caps, editCount })) return;
    }
    throw this.#contention(group);
  }

  /** Returns false if the caps have changed since the item was read. */
  async #changeCaps(
    group: string,
    item: Attributes,
    { caps, editCount }: { readonly caps: BudgetCaps; readonly editCount: number },
  ): Promise<boolean> {
    const capEditCount = Number(item['capEditCount']);
    if (caps.size === 0) return await this.#close(group, capEditCount);
    const known = accountsIn(item);
    const isKnown = (lane: string | null) => known.some((account) => account.lane === lane);
    const added = [...caps.keys()].filter((lane) => !isKnown(lane)).map(emptyAccount);
    const changed = [...known, ...added].filter(
      ({ lane, capNanoUsd }) => capNanoUsd !== (caps.get(lane) ?? null),
    );
    const isSame = changed.length === 0 && capEditCount === editCount;
    return isSame || (await this.#writeCaps(group, changed, caps, { capEditCount, editCount }));
  }

  /** Returns false if one of the caps is not what it was, or that of another plan. */
  async #writeCaps(
    group: string,
    accounts: readonly BudgetAccount[],
    caps: BudgetCaps,
    { capEditCount, editCount }: { readonly capEditCount: number; readonly editCount: number },
  ): Promise<boolean> {
    const set: Record<string, number> = { capEditCount: editCount };
    const add: Record<string, number> = { revision: 1 };
    const remove: string[] = [];
    const equal: Record<string, number> = { capEditCount };
    const lacks: string[] = [];
    for (const { lane, capNanoUsd: before } of accounts) {
      const cap = caps.get(lane);
      const name = figureName('cap', lane);
      if (before === null) lacks.push(name);
      else equal[name] = before;
      if (cap === undefined) remove.push(name);
      else set[name] = cap;
      add[figureName('left', lane)] = (cap ?? 0) - (before ?? 0);
      remove.push(figureName('warned', lane), figureName('refused', lane));
    }
    const guards = { lacks, equal };
    const change = { set, add, remove };
    return (await this.#table.changeOrRead(budgetKey(group), change, guards)).isChanged;
  }

  /** Returns false if the caps are those of another plan. */
  async #close(group: string, capEditCount: number): Promise<boolean> {
    if (!(await this.#table.remove(budgetKey(group), { capEditCount }))) return false;
    for await (const { pk, sk } of this.#table.query(budgetPartition(group), {}))
      await this.#table.remove({ pk: String(pk), sk: String(sk) });
    return true;
  }

  async reserve(group: string, reservation: Omit<Reservation, 'isKept'>): Promise<Reserving> {
    const id = reservationId(toKey(reservation));
    try {
      return await this.#reserve(group, id, reservation);
    } catch (error) {
      if (toThriceError(error).code !== 'store-unavailable') throw error;
      // Writes are throttled apart from reads, which also say whether only the response to the write was lost. See
      // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-key-range-limit-exceeded-mitigation.html
      // (2026-11).
      const isReserved = (await this.#find(group, id)) !== undefined;
      return { kind: isReserved ? 'reserved' : 'busy' };
    }
  }

  async #reserve(
    group: string,
    id: string,
    reservation: Omit<Reservation, 'isKept'>,
  ): Promise<Reserving> {
    const { change, guards } = toReserve(id, reservation);
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const written = await this.#table.changeOrRead(budgetKey(group), change, guards);
      if (written.isChanged) {
        this.#remember(id, { ...reservation, isKept: false });
        return { kind: 'reserved' };
      }
      const { item } = written;
      // Nothing is counted without a budget. A reservation that is there is that of a request whose response was lost.
      if (item === undefined || findReservation(item, id) !== undefined)
        return { kind: 'reserved' };
      const refused = await this.#refuse(group, item, reservation);
      if (refused !== undefined) return refused;
    }
    return { kind: 'busy' };
  }

  /** Returns undefined if nothing refuses the reservation any more. */
  async #refuse(
    group: string,
    item: Attributes,
    { lane, amountNanoUsd }: Pick<Reservation, 'lane' | 'amountNanoUsd'>,
  ): Promise<Reserving | undefined> {
    const [ofGroup, ...others] = accountsIn(item);
    if (ofGroup === undefined) return undefined;
    const isFull = Number(item['openCount']) >= MAX_OPEN;
    if (isFull) return { kind: 'refused', account: ofGroup, hasOpen: true };
    const ofLane = others.find((account) => account.lane === lane) ?? emptyAccount(lane);
    const account = [ofGroup, ofLane].find((each) => reserveOn(each, amountNanoUsd) === undefined);
    if (account === undefined) return undefined;
    const nowMs = this.#clock.now();
    const open = [...reservationsIn(item, false).values()];
    const hasOpen = open.some(
      (each) => isAwaited(each, nowMs) && (account.lane === null || account.lane === each.lane),
    );
    if (!hasOpen && !isBudgetReached(account)) {
      const set = { [figureName('refused', account.lane)]: amountNanoUsd };
      await this.#table.update(budgetKey(group), { set }, 'present');
    }
    return { kind: 'refused', account, hasOpen };
  }

  async settle(
    group: string,
    call: CallKey,
    costNanoUsd: number | null,
  ): Promise<readonly BudgetAccount[]> {
    const id = reservationId(call);
    let reservation = this.#remembered.get(id) ?? (await this.#find(group, id));
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      if (reservation === undefined || (reservation.isKept && costNanoUsd === null)) break;
      const { change, guards } = toSettle(id, reservation, costNanoUsd);
      const written = await this.#table.changeOrRead(budgetKey(group), change, guards);
      if (written.isChanged) {
        this.#remembered.delete(id);
        return await this.#afterSettling(group, written.item);
      }
      // Settled before, or kept meanwhile.
      reservation = written.item && findReservation(written.item, id);
    }
    this.#remembered.delete(id);
    return [];
  }

  async #find(group: string, id: string): Promise<Reservation | undefined> {
    const item = await this.#read(group);
    return item && findReservation(item, id);
  }

  async #afterSettling(group: string, item: Attributes): Promise<readonly BudgetAccount[]> {
    await this.#moveKept(group, item);
    const due = accountsIn(item).filter((account) => !account.isWarned && isWarningDue(account));
    const warned: BudgetAccount[] = [];
    for (const account of due) {
      const { lane, capNanoUsd } = account;
      const name = figureName('warned', lane);
      // Another cap needs a warning of its own.
      const guards = { lacks: [name], equal: { [figureName('cap', lane)]: capNanoUsd ?? 0 } };
      const change = { set: { [name]: 1 } };
      const written = await this.#table.changeOrRead(budgetKey(group), change, guards);
      if (written.isChanged) warned.push({ ...account, isWarned: true });
    }
    return warned;
  }

  /** Moves the older half of many kept reservations out of the item. The copies go first: none is lost, and two count as one. */
  async #moveKept(group: string, item: Attributes): Promise<void> {
    const kept = [...reservationsIn(item, true)];
    if (kept.length <= MAX_KEPT) return;
    const oldest = kept
      .toSorted(([, a], [, b]) => a.untilMs - b.untilMs)
      .slice(0, Math.ceil(kept.length / 2));
    for (const [id, reservation] of oldest) {
      const payload = packReservation(reservation);
      await this.#table.put(keptRowKey(group, id), { schemaVersion: SCHEMA_VERSION, payload });
    }
    const names = oldest.map(([id]) => reservationName(id, true));
    const change = { add: { revision: 1 }, remove: names };
    await this.#table.changeOrRead(budgetKey(group), change, { has: names });
  }

  #remember(id: string, reservation: Reservation): void {
    this.#remembered.set(id, reservation);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= MAX_REMEMBERED) return;
      this.#remembered.delete(oldest);
    }
  }

  async readAccounts(group: string): Promise<readonly BudgetAccount[]> {
    const item = await this.#read(group);
    return item === undefined ? [] : accountsIn(item);
  }

  async listOpen(group: string): Promise<readonly Reservation[]> {
    const item = await this.#read(group);
    return item === undefined ? [] : [...reservationsIn(item, false).values()];
  }

  async listKept(group: string): Promise<readonly Reservation[]> {
    const item = await this.#read(group);
    if (item === undefined) return [];
    return (await this.#readReservations(group, item)).filter(({ isKept }) => isKept);
  }

  /** All reservations of a group. */
  async #readReservations(group: string, item: Attributes): Promise<readonly Reservation[]> {
    const byId = new Map([...reservationsIn(item, false), ...reservationsIn(item, true)]);
    const rows = this.#table.query(budgetPartition(group), { prefix: KEPT_ROW_PREFIX });
    for await (const { sk, payload } of rows) {
      const id = String(sk).slice(KEPT_ROW_PREFIX.length);
      if (!byId.has(id)) byId.set(id, unpackReservation(String(payload), true));
    }
    return [...byId.values()];
  }

  async #read(group: string): Promise<Attributes | undefined> {
    return await this.#table.get(budgetKey(group));
  }

  #contention(group: string): ThriceError {
    return new ThriceError({
      code: 'store-unavailable',
      message: `${this.#table.name}: the budget of ${group} changed ${MAX_REFUSALS} times during one change; try again`,
    });
  }
}

/** A conditional change of the item of a group. */
interface ItemChange {
  readonly change: Change;
  readonly guards: Guards;
}

function toReserve(id: string, reservation: Omit<Reservation, 'isKept'>): ItemChange {
  const { lane, amountNanoUsd } = reservation;
  const accounts = [null, lane];
  const reserved = { ...emptyAccount(null), reservedNanoUsd: amountNanoUsd };
  return {
    change: {
      set: { [reservationName(id, false)]: packReservation(reservation) },
      add: { ...additionsOf(reserved, lane), openCount: 1, revision: 1 },
      remove: accounts.map((each) => figureName('refused', each)),
    },
    guards: {
      lacks: [reservationName(id, false), reservationName(id, true)],
      atMost: { openCount: MAX_OPEN - 1 },
      atLeast: accounts.map((each) => ({
        name: figureName('left', each),
        least: amountNanoUsd,
        ifHas: figureName('cap', each),
      })),
    },
  };
}

/** Replaces a reservation by its cost, or by a kept one where that is null. */
function toSettle(id: string, reservation: Reservation, costNanoUsd: number | null): ItemChange {
  const { lane, isKept } = reservation;
  const change = settleOn(emptyAccount(null), reservation, costNanoUsd);
  const name = reservationName(id, isKept);
  return {
    change: {
      ...(costNanoUsd === null && {
        set: { [reservationName(id, true)]: packReservation(reservation) },
      }),
      add: { ...additionsOf(change, lane), openCount: isKept ? 0 : -1, revision: 1 },
      remove: [name],
    },
    guards: { has: [name] },
  };
}

function toKey({ run, config, id, step, callId }: Omit<Reservation, 'isKept'>): CallKey {
  return { cell: { run, config, id }, step, callId };
}
