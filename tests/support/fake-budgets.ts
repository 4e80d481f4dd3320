import {
  type BudgetAccount,
  type BudgetCaps,
  type Budgets,
  type CallKey,
  type Clock,
  type CountedJournal,
  capOn,
  countAccounts,
  emptyAccount,
  groupOfRun,
  haveLaterCaps,
  isAwaited,
  type Reservation,
  type Reserving,
  reserveOn,
  settleOn,
} from '@thrice/core';
import type { FakeLedger } from './fake-ledger.ts';

interface FakeGroup {
  readonly accounts: Map<string | null, BudgetAccount>;
  readonly reservations: Map<string, Reservation>;
}

/** The budgets of groups, in memory. */
export class FakeBudgets implements Budgets {
  readonly #ledger: FakeLedger;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #groups = new Map<string, FakeGroup>();

  constructor(ledger: FakeLedger, clock: Pick<Clock, 'now'>) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  async open(group: string, { editCount, costOf }: CountedJournal): Promise<number> {
    const existing = this.#groups.get(group);
    if ((existing?.accounts.get(null)?.editCount ?? -1) >= editCount) return 0;
    const { accounts: before, reservations } = this.#read(group);
    const calls = this.#ledger
      .allEntries()
      .filter(({ key }) => groupOfRun(key.run) === group)
      .filter(
        ({ key, entry: { step, callId } }) =>
          !reservations.has(nameOf({ cell: key, step, callId })),
      )
      .map(({ entry: { call } }) => ({ lane: call.lane, costUsd: costOf(call) }));
    const unknownCount = calls.filter(({ costUsd }) => costUsd === null).length;
    if (unknownCount > 0) return unknownCount;
    const count = { before: [...before.values()], reservations: [...reservations.values()] };
    const accounts = new Map<string | null, BudgetAccount>(
      countAccounts({ ...count, calls, editCount }).map((account) => [account.lane, account]),
    );
    this.#groups.set(group, { accounts, reservations });
    return 0;
  }

  async setCaps(group: string, caps: BudgetCaps, editCount: number): Promise<void> {
    const { accounts } = this.#read(group);
    if (haveLaterCaps([...accounts.values()], editCount)) return;
    if (caps.size === 0) {
      this.#groups.delete(group);
      return;
    }
    for (const lane of caps.keys()) {
      if (!accounts.has(lane)) accounts.set(lane, emptyAccount(lane));
    }
    for (const [lane, account] of accounts)
      accounts.set(lane, capOn(account, caps.get(lane) ?? null, editCount));
  }

  async reserve(group: string, reservation: Omit<Reservation, 'isKept'>): Promise<Reserving> {
    const { accounts, reservations } = this.#read(group);
    const { lane, amountNanoUsd, run, config, id, step, callId } = reservation;
    const name = nameOf({ cell: { run, config, id }, step, callId });
    if (reservations.has(name)) return { kind: 'reserved' };
    const own = [null, lane].map((each) => accounts.get(each) ?? emptyAccount(each));
    const reserved = own.map((account) => reserveOn(account, amountNanoUsd));
    const refusing = own.find((_, index) => reserved[index] === undefined);
    if (refusing !== undefined) {
      const hasOpen = [...reservations.values()].some(
        (each) =>
          !each.isKept &&
          isAwaited(each, this.#clock.now()) &&
          (refusing.lane === null || refusing.lane === each.lane),
      );
      if (!hasOpen) accounts.set(refusing.lane, { ...refusing, refusedNanoUsd: amountNanoUsd });
      return { kind: 'refused', account: refusing, hasOpen };
    }
    for (const account of reserved) if (account) accounts.set(account.lane, account);
    reservations.set(name, { ...reservation, isKept: false });
    return { kind: 'reserved' };
  }

  async settle(
    group: string,
    call: CallKey,
    costNanoUsd: number | null,
  ): Promise<readonly BudgetAccount[]> {
    const { accounts, reservations } = this.#read(group);
    const reservation = reservations.get(nameOf(call));
    if (reservation === undefined) return [];
    if (costNanoUsd === null) reservations.set(nameOf(call), { ...reservation, isKept: true });
    else reservations.delete(nameOf(call));
    return [null, reservation.lane].flatMap((lane) => {
      const account = accounts.get(lane) ?? emptyAccount(lane);
      const settled = settleOn(account, reservation, costNanoUsd);
      accounts.set(lane, settled);
      return settled.isWarned && !account.isWarned ? [settled] : [];
    });
  }

  async readAccounts(group: string): Promise<readonly BudgetAccount[]> {
    return [...(this.#groups.get(group)?.accounts.values() ?? [])].toSorted((a, b) =>
      (a.lane ?? '') < (b.lane ?? '') ? -1 : 1,
    );
  }

  async listOpen(group: string): Promise<readonly Reservation[]> {
    return this.#list(group, false);
  }

  async listKept(group: string): Promise<readonly Reservation[]> {
    return this.#list(group, true);
  }

  #list(group: string, isKept: boolean): readonly Reservation[] {
    const { reservations } = this.#read(group);
    return [...reservations.values()].filter((each) => each.isKept === isKept);
  }

  #read(group: string): FakeGroup {
    return this.#groups.get(group) ?? { accounts: new Map(), reservations: new Map() };
  }
}

function nameOf({ cell: { run, config, id }, step, callId }: CallKey): string {
  return JSON.stringify([run, config, id, step, callId]);
}
