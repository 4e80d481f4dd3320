import type { BudgetRefusal } from '../calls/call-budget.ts';
import { toUsd } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { BudgetSummary } from '../results/budget-summary.ts';

/** The cap of a group that is reached; null where it is that of a lane, which only the spec names. */
type ReachedCap = Pick<BudgetSummary, 'capUsd' | 'spentUsd' | 'nextUsd'> | null;

/** Returns what a refused call says of the cap of its group. */
export function reachedCapOf({
  account,
  amountNanoUsd = account.refusedNanoUsd ?? undefined,
}: Partial<BudgetRefusal> & Pick<BudgetRefusal, 'account'>): ReachedCap {
  const { lane, capNanoUsd, spentNanoUsd } = account;
  if (lane !== null || capNanoUsd === null) return null;
  return {
    capUsd: toUsd(capNanoUsd),
    spentUsd: toUsd(spentNanoUsd),
    nextUsd: amountNanoUsd === undefined ? null : toUsd(amountNanoUsd),
  };
}

/**
 * Returns the command that raises a cap to twice as much, or what the next call needs, and resumes its group.
 *
 * @param resume - The command that resumes it.
 */
export function raiseCommand(
  cap: ReachedCap,
  { resume, header }: { readonly resume: string; readonly header: GroupHeader },
): string {
  if (cap === null || cap.capUsd === null) return `${resume} --spec ${header.specSource.path}`;
  const { capUsd, spentUsd, nextUsd } = cap;
  const enoughUsd = spentUsd + (nextUsd ?? 0);
  return `${resume} --budget-usd ${roundUp(Math.max(2 * capUsd, 2 * spentUsd, enoughUsd))}`;
}

/** Two digits are enough for a cap that is only proposed. */
function roundUp(usd: number): number {
  const unit = 10 ** (Math.floor(Math.log10(usd)) - 1);
  return Number((Math.ceil(usd / unit - 1e-9) * unit).toPrecision(2));
}
