import type { DatabaseSync } from 'node:sqlite';
import {
  type BudgetAccount,
  type BudgetCaps,
  type Budgets,
  budgetAccountSchema,
  type CallKey,
  type Clock,
  type CountedJournal,
  callSchema,
  capOn,
  countAccounts,
  emptyAccount,
  haveLaterCaps,
  isAwaited,
  type Reservation,
  type Reserving,
  reservationSchema,
  reserveOn,
  settleOn,
} from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import { readStored } from './read-stored.ts';
import { prepareStatements, type Statements, type StoreInit } from './sqlite-store.ts';

/**
 * The budgets of groups in the ledger's SQLite file.
 *
 * A reservation is open --its call's cost is known--> gone, or --the cost will not be known--> kept --it is known
 * after all--> gone. It and the accounts that it counts on change in one transaction.
 */
export class SqliteBudgets implements Budgets {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #workers: StoreInit['workers'];
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, { commit, clock, workers }: StoreInit) {
    this.#commit = commit;
    this.#clock = clock;
    this.#workers = workers;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  async open(group: string, journal: CountedJournal): Promise<number> {
    if (this.#isCounted(group, journal)) return 0;
    return await this.#commit.write(() => {
      if (this.#isCounted(group, journal)) return 0;
      const calls = this.#costsOf(group, journal);
      const unknownCount = calls.filter(({ costUsd }) => costUsd === null).length;
      if (unknownCount > 0) return unknownCount;
      const reservations = this.#sql.selectAllReservations.all(group).map(parseReservation);
      const { editCount } = journal;
      const before = this.#readAll(group);
      for (const account of countAccounts({ before, calls, reservations, editCount }))
        this.#write(group, account);
      return 0;
    });
  }

  #isCounted(group: string, { editCount }: CountedJournal): boolean {
    const ofGroup = this.#readAll(group).find(({ lane }) => lane === null);
    return ofGroup !== undefined && ofGroup.editCount >= editCount;
  }

  #costsOf(group: string, { runs, costOf }: CountedJournal) {
    const calls = this.#sql.selectCalls.iterate(JSON.stringify(runs), group);
    return Array.from(calls, (row) => {
      const call = readStored(callSchema, row['call'], 'a call');
      return { lane: call.lane, costUsd: costOf(call) };
    });
  }

  async setCaps(group: string, caps: BudgetCaps, editCount: number): Promise<void> {
    await this.#commit.write(() => {
      const known = this.#readAll(group);
      if (haveLaterCaps(known, editCount)) return;
      if (caps.size === 0) {
        this.#sql.deleteAccounts.run(group);
        this.#sql.deleteReservations.run(group);
        return;
      }
      const lanes = [...caps.keys()].filter((lane) => lane !== null);
      const accounts = new Map(known.map((account) => [account.lane, account]));
      for (const lane of lanes) if (!accounts.has(lane)) accounts.set(lane, emptyAccount(lane));
      for (const account of accounts.values()) {
        const capped = capOn(account, caps.get(account.lane) ?? null, editCount);
        this.#write(group, capped);
      }
    });
  }

  reserve(group: string, reservation: Omit<Reservation, 'isKept'>): Promise<Reserving> {
    return this.#commit.write(() => this.#reserve(group, { ...reservation, isKept: false }));
  }

  #reserve(group: string, reservation: Reservation): Reserving {
    if (this.#find(group, toKey(reservation)) !== undefined) return { kind: 'reserved' };
    const { lane, amountNanoUsd } = reservation;
    const accounts = this.#accountsOf(group, lane);
    if (!accounts.some((account) => account.lane === null)) return { kind: 'reserved' };
    const reserved: BudgetAccount[] = [];
    for (const account of accounts) {
      const next = reserveOn(account, amountNanoUsd);
      if (next === undefined) return this.#refuse(group, account, amountNanoUsd);
      reserved.push(next);
    }
    for (const account of reserved) this.#write(group, account);
    this.#insert(group, reservation);
    return { kind: 'reserved' };
  }

  #refuse(group: string, account: BudgetAccount, amountNanoUsd: number): Reserving {
    const hasOpen = this.#hasOpen(group, account.lane);
    if (!hasOpen) this.#write(group, { ...account, refusedNanoUsd: amountNanoUsd });
    return { kind: 'refused', account, hasOpen };
  }

  /** Whether calls of an account are in flight: of a worker that is seen at work, or not yet known to have ended. */
  #hasOpen(group: string, lane: string | null): boolean {
    const nowMs = this.#clock.now();
    return this.#sql.selectOwners
      .all(group, lane, lane)
      .some(
        (row) =>
          isAwaited({ untilMs: Number(row['until_ms']) }, nowMs) ||
          this.#workers.isAtWork(String(row['owner'])),
      );
  }

  settle(
    group: string,
    call: CallKey,
    costNanoUsd: number | null,
  ): Promise<readonly BudgetAccount[]> {
    return this.#commit.write(() => this.#settle(group, call, costNanoUsd));
  }

  #settle(group: string, call: CallKey, costNanoUsd: number | null): readonly BudgetAccount[] {
    const reservation = this.#find(group, call);
    if (reservation === undefined) return [];
    if (costNanoUsd === null) this.#insert(group, { ...reservation, isKept: true });
    else this.#sql.deleteReservation.run(...columnsOf(group, call));
    return this.#accountsOf(group, reservation.lane).flatMap((account) => {
      const settled = settleOn(account, reservation, costNanoUsd);
      this.#write(group, settled);
      return settled.isWarned && !account.isWarned ? [settled] : [];
    });
  }

  async readAccounts(group: string): Promise<readonly BudgetAccount[]> {
    return this.#readAll(group);
  }

  async listOpen(group: string): Promise<readonly Reservation[]> {
    return this.#sql.selectReservations.all(group, 0).map(parseReservation);
  }

  async listKept(group: string): Promise<readonly Reservation[]> {
    return this.#sql.selectReservations.all(group, 1).map(parseReservation);
  }

  /** The accounts that a call of a lane counts on. */
  #accountsOf(group: string, lane: string): readonly BudgetAccount[] {
    const accounts = this.#readAll(group);
    const ofGroup = accounts.filter((account) => account.lane === null);
    const ofLane = accounts.find((account) => account.lane === lane) ?? emptyAccount(lane);
    return [...ofGroup, ofLane];
  }

  #readAll(group: string): readonly BudgetAccount[] {
    return this.#sql.selectAccounts
      .all(group)
      .map((row) => readStored(budgetAccountSchema, row['account'], 'an account of a budget'));
  }

  #write(group: string, account: BudgetAccount): void {
    this.#sql.replaceAccount.run(group, account.lane ?? '', JSON.stringify(account));
  }

  #find(group: string, call: CallKey): Reservation | undefined {
    const row = this.#sql.selectReservation.get(...columnsOf(group, call));
    return row === undefined ? undefined : parseReservation(row);
  }

  #insert(group: string, reservation: Reservation): void {
    const { lane, untilMs, isKept } = reservation;
    this.#sql.replaceReservation.run(
      ...columnsOf(group, toKey(reservation)),
      lane,
      Math.ceil(untilMs),
      Number(isKept),
      JSON.stringify(reservation),
    );
  }
}

function toKey({ run, config, id, step, callId }: Omit<Reservation, 'isKept'>): CallKey {
  return { cell: { run, config, id }, step, callId };
}

function columnsOf(group: string, { cell: { run, config, id }, step, callId }: CallKey) {
  return [group, run, config, id, step, callId] as const;
}

function parseReservation(row: Readonly<Record<string, unknown>>): Reservation {
  return readStored(reservationSchema, row['reservation'], 'a reservation of a budget');
}

const THIS_CALL =
  'group_name = ? AND run = ? AND config = ? AND id = ? AND step = ? AND call_id = ?';
const STATEMENTS = {
  selectAccounts: 'SELECT account FROM budget_accounts WHERE group_name = ? ORDER BY lane',
  replaceAccount: 'INSERT OR REPLACE INTO budget_accounts VALUES (?, ?, ?)',
  selectReservation: `SELECT reservation FROM reservations WHERE ${THIS_CALL}`,
  selectReservations: 'SELECT reservation FROM reservations WHERE group_name = ? AND is_kept = ?',
  replaceReservation: 'INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  deleteReservation: `DELETE FROM reservations WHERE ${THIS_CALL}`,
  deleteAccounts: 'DELETE FROM budget_accounts WHERE group_name = ?',
  deleteReservations: 'DELETE FROM reservations WHERE group_name = ?',
  selectOwners: `SELECT reservation ->> '$.owner' AS owner, max(until_ms) AS until_ms FROM reservations
    WHERE group_name = ? AND is_kept = 0 AND (lane = ? OR ? IS NULL) GROUP BY 1`,
  selectAllReservations: 'SELECT reservation FROM reservations WHERE group_name = ?',
  selectCalls: `SELECT entry -> '$.call' AS call FROM calls WHERE run IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM reservations WHERE group_name = ? AND run = calls.run
      AND config = calls.config AND id = calls.id AND step = calls.step
      AND call_id = calls.entry ->> '$.callId')`,
} as const;
