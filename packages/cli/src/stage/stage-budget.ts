import {
  type BudgetEdit,
  type BudgetRefusal,
  capsOf,
  editBudget,
  isBudgetReached,
  type LoadedGroup,
  loadGroup,
  openBudget,
  ThriceError,
} from '@thrice/core';
import type { StageEngine } from './stage-engine.ts';

type BudgetStores = Pick<StageEngine, 'ledger' | 'budgets'>;

/**
 * Gives a group the caps of its plan before its cells are sent again.
 *
 * @throws {ThriceError} `unsupported` for a group that was copied here: what its calls may have cost elsewhere is known
 *   there alone.
 */
export async function openStageBudget(
  { header, benchmark, isPlanned }: LoadedGroup,
  { budgets }: Pick<BudgetStores, 'budgets'>,
): Promise<void> {
  const isNew = !isPlanned || capsOf(benchmark).size === 0;
  if (!isNew && (await budgets.readAccounts(header.group)).length === 0)
    throw unsupported(`${header.group} was spent from on another machine; resume it there`);
  await openBudget(header, benchmark, budgets);
}

/** Replaces the budget of a group; its workers get it when the group is resumed. */
export async function editBudgetOnStage(
  edit: BudgetEdit,
  engine: Pick<StageEngine, 'ledger' | 'blobs' | 'activeGroups' | 'clock'>,
): Promise<LoadedGroup> {
  const { group } = edit.group.header;
  await engine.activeGroups.add(group);
  await editBudget(edit, engine);
  return loadGroup((await engine.ledger.readGroup(group)) ?? edit.group);
}

/**
 * Refuses the first cap of a group in a stage: its calls in flight have no reservation.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseFirstBudget(
  before: Parameters<typeof capsOf>[0],
  after: Parameters<typeof capsOf>[0],
): void {
  if (capsOf(before).size > 0 || capsOf(after).size === 0) return;
  throw unsupported(
    'the group was started without one, so that its calls in flight are not counted; start a new group',
  );
}

/**
 * Refuses to copy a group that its budget still bounds: what its calls may have cost stays where it is.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseCopiedBudget({ benchmark }: Pick<LoadedGroup, 'benchmark'>): void {
  if (capsOf(benchmark).size === 0) return;
  throw unsupported(
    'the group has cells left, and what counts on its budget is not copied; finish it where it is',
  );
}

/** Returns the reached cap of a group, and the worst case of the call that it has refused. */
export async function findRefusal(
  group: string,
  { budgets }: Pick<BudgetStores, 'budgets'>,
): Promise<BudgetRefusal | undefined> {
  for (const account of await budgets.readAccounts(group)) {
    const { refusedNanoUsd: amountNanoUsd } = account;
    if (amountNanoUsd !== null && isBudgetReached(account)) return { account, amountNanoUsd };
  }
  return undefined;
}

function unsupported(problem: string): ThriceError {
  return new ThriceError({
    code: 'unsupported',
    message: `budget_usd: not in this version: ${problem}`,
  });
}
