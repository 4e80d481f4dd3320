import type { BenchmarkSpec } from '../domain/benchmark-spec.ts';
import { capsOf } from '../domain/budget.ts';
import { type GroupHeader, groupHeaderSchema } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import { writePlan } from '../plan/plan-group.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';
import { describeChange } from '../spec/compare-specs.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import { editedMeanwhile } from './edited-meanwhile.ts';

/** A change of the budget of a stored group. */
export interface BudgetEdit {
  readonly group: LoadedGroup;
  /** `none` lifts it. */
  readonly budgetUsd: number | 'none';
  readonly commandLine: readonly string[];
  readonly toolVersion: string;
}

/**
 * Replaces or lifts the budget of a group that has one. Its questions, configs and tasks stay as they are.
 *
 * @returns The header of the edited plan; the stored one if the budget is that already.
 * @throws {ThriceError} `invalid-argument` for a group without a budget, whose calls were never checked for a bound;
 *   `spec-changed` when another command edits or deletes it.
 */
export async function editBudget(
  { group: { header, benchmark, isPlanned }, budgetUsd, commandLine, toolVersion }: BudgetEdit,
  { ledger, blobs, clock }: EditBudgetStores,
): Promise<GroupHeader> {
  const before = header.spec.budget_usd ?? 'none';
  if (before === budgetUsd) return header;
  if (capsOf(benchmark).size === 0) throw noBudget(header);
  const spec = withBudget(header.spec, budgetUsd);
  const edit = {
    at: clock.toIso(clock.now()),
    commandLine: [...commandLine],
    toolVersion,
    changes: [describeChange('budget_usd', header.spec.budget_usd, spec.budget_usd)],
    before: { specSha256: header.specSource.sha256, questions: header.questions },
  };
  const edited = groupHeaderSchema.parse({
    ...header,
    spec,
    overrides: { ...header.overrides, budgetUsd },
    edits: [...header.edits, edit],
  });
  if (!(await ledger.replaceHeader(header, edited))) throw editedMeanwhile(header);
  // No cell was added.
  if (isPlanned) await ledger.markPlanned(edited);
  await writePlan(edited, blobs);
  return edited;
}

/** Replaces the budget of a spec; `none` leaves it without one. */
export function withBudget(spec: BenchmarkSpec, budgetUsd: number | 'none'): BenchmarkSpec {
  const { budget_usd: _, ...rest } = spec;
  return budgetUsd === 'none' ? rest : { ...rest, budget_usd: budgetUsd };
}

/** What a change of a budget reads and writes. */
interface EditBudgetStores {
  readonly ledger: Pick<Ledger, 'replaceHeader' | 'markPlanned'>;
  readonly blobs: BlobStore;
  readonly clock: Clock;
}

function noBudget({ group }: GroupHeader): ThriceError {
  return new ThriceError({
    code: 'invalid-argument',
    message: `${group}: expected a group with a budget, received one without; an edited spec can add it, once its prices and limits are checked`,
  });
}
