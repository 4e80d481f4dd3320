import * as z from 'zod';
import { type BudgetAccount, isBudgetReached, toUsd } from '../domain/budget.ts';

const usd = z.number().min(0);
const accountSummarySchema = z.strictObject({
  /** Null for no cap. */
  capUsd: usd.nullable(),
  /** The cost of the calls, and the worst case of those whose cost is not known. */
  spentUsd: usd,
  /** The worst case of the calls in flight. */
  reservedUsd: usd,
  /** What of `spentUsd` is the worst case of calls whose cost is not known. */
  unknownUsd: usd,
  unknownCalls: z.int().min(0),
  /** Whether most of the cap was spent. */
  isWarned: z.boolean(),
  /** Whether what is left does not cover the next call. */
  isReached: z.boolean(),
  /** What the call may cost that was refused last; null where none was since the cap was set. */
  nextUsd: usd.nullable(),
});

/** The budget of a group, as its files and its status show it. */
export const budgetSummarySchema = accountSummarySchema.extend({
  /** The lanes with a cap of their own. */
  lanes: z.array(accountSummarySchema.extend({ lane: z.string() })),
});
/** The budget of a group, as its files and its status show it. */
export type BudgetSummary = z.infer<typeof budgetSummarySchema>;

/** Describes the accounts of a group; undefined for a group without a budget. */
export function summarizeBudget(accounts: readonly BudgetAccount[]): BudgetSummary | undefined {
  const ofGroup = accounts.find(({ lane }) => lane === null);
  if (ofGroup === undefined) return undefined;
  const lanes = accounts.flatMap((account) =>
    account.lane === null || account.capNanoUsd === null
      ? []
      : [{ lane: account.lane, ...summarizeAccount(account) }],
  );
  return { ...summarizeAccount(ofGroup), lanes };
}

function summarizeAccount(account: BudgetAccount): z.infer<typeof accountSummarySchema> {
  const { capNanoUsd, spentNanoUsd, reservedNanoUsd, keptNanoUsd, keptCount, isWarned } = account;
  const { refusedNanoUsd } = account;
  return {
    capUsd: capNanoUsd === null ? null : toUsd(capNanoUsd),
    spentUsd: toUsd(spentNanoUsd),
    reservedUsd: toUsd(reservedNanoUsd),
    unknownUsd: toUsd(keptNanoUsd),
    unknownCalls: keptCount,
    isWarned,
    isReached: isBudgetReached(account),
    nextUsd: refusedNanoUsd === null ? null : toUsd(refusedNanoUsd),
  };
}
