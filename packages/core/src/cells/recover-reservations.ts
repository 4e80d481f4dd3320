import type { CallKey, Reservation } from '../domain/budget.ts';
import type { JournalEntry } from '../domain/call.ts';
import type { Batches } from '../ports/batches.ts';
import type { Budgets } from '../ports/budgets.ts';
import type { Ledger } from '../ports/ledger.ts';

/**
 * Settles the reservations of workers that died, by what the journal says.
 *
 * A call that it does not have may have been billed all the same, and counts at its worst case. A response that a
 * vendor still prepares, in the background or in a batch, stays reserved, whoever submitted it.
 *
 * @param isOver - Whether the call of a reservation has ended, with its worker or at its time limit.
 * @param settle - Counts what a call has cost, USD; null where nobody knows.
 */
export async function recoverReservations(
  group: string,
  {
    budgets,
    batches,
    ledger,
    isOver,
    settle,
  }: {
    readonly budgets: Pick<Budgets, 'listOpen'>;
    readonly batches: Pick<Batches, 'findCall'>;
    readonly ledger: Pick<Ledger, 'readJournal' | 'listDiscardedCalls' | 'readSubmissions'>;
    readonly isOver: (reservation: Reservation) => boolean;
    readonly settle: (call: CallKey, costUsd: number | null) => Promise<void>;
  },
): Promise<void> {
  for (const reservation of await budgets.listOpen(group)) {
    if (!isOver(reservation)) continue;
    const { run, config, id, step, callId } = reservation;
    const entry = await findEntry(reservation, ledger);
    if (entry === undefined && (await isPrepared(reservation, { ledger, batches }))) continue;
    const call = { cell: { run, config, id }, step, callId };
    await settle(call, entry?.call.costUsd ?? null);
  }
}

/** Whether a vendor still prepares the response, in the background or in a batch. */
async function isPrepared(
  { run, config, id, step, callId }: Reservation,
  {
    ledger,
    batches,
  }: {
    readonly ledger: Pick<Ledger, 'readSubmissions'>;
    readonly batches: Pick<Batches, 'findCall'>;
  },
): Promise<boolean> {
  const cell = { run, config, id };
  const submission = (await ledger.readSubmissions(cell)).get(step);
  if (submission?.callId === callId && submission.state === 'accepted') return true;
  return (await batches.findCall(cell, step))?.callId === callId;
}

async function findEntry(
  { run, config, id, step, callId }: Reservation,
  ledger: Pick<Ledger, 'readJournal' | 'listDiscardedCalls'>,
): Promise<JournalEntry | undefined> {
  const answer = (await ledger.readJournal({ run, config, id })).get(step);
  if (answer?.callId === callId) return answer;
  for await (const { entry } of ledger.listDiscardedCalls(run, config, [id])) {
    if (entry.step === step && entry.callId === callId) return entry;
  }
  return undefined;
}
