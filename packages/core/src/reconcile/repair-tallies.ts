import type { GroupHeader } from '../domain/group.ts';
import type { Tally } from '../domain/tally.ts';
import type { Ledger } from '../ports/ledger.ts';

/** Sums of costs may differ because their terms are added in a different order. */
const COST_TOLERANCE_USD = 1e-6;

/** Corrects the tallies of a group that nobody works on. */
export async function repairTallies(
  header: GroupHeader,
  tallies: readonly Tally[],
  ledger: Ledger,
): Promise<void> {
  const existing = await readAllTallies(header, ledger);
  const both = { before: existing, after: existing };
  for (const counted of tallies) await repairTally(counted, both, ledger);
}

/** Reads the tallies of all runs. */
export async function readAllTallies(
  { runs }: GroupHeader,
  ledger: Pick<Ledger, 'readTallies'>,
): Promise<readonly Tally[]> {
  return (await Promise.all(runs.map((run) => ledger.readTallies(run)))).flat();
}

/** Corrects a tally that a crash left wrong, unless the tally has changed in the meantime. */
export async function repairTally(
  counted: Tally,
  { before, after }: { readonly before: readonly Tally[]; readonly after: readonly Tally[] },
  ledger: Ledger,
): Promise<void> {
  const existing = findTally(after, counted);
  if (!isSameTally(findTally(before, counted), existing)) return;
  if (!isSameTally(counted, existing)) await ledger.replaceTally(existing, counted);
}

/** Whether tallies of the same configs say the same. */
export function areSameTallies(left: readonly Tally[], right: readonly Tally[]): boolean {
  return [...left, ...right].every((tally) =>
    isSameTally(findTally(left, tally), findTally(right, tally)),
  );
}

/** Lists the recounted tallies that the stored ones do not say, each with the stored one. */
export function listOtherTallies(
  counted: readonly Tally[],
  stored: readonly Tally[],
): readonly { readonly counted: Tally; readonly stored: Tally | undefined }[] {
  return counted
    .map((tally) => ({ counted: tally, stored: findTally(stored, tally) }))
    .filter((each) => !isSameTally(each.counted, each.stored));
}

function findTally(
  tallies: readonly Tally[],
  { run, config }: Pick<Tally, 'run' | 'config'>,
): Tally | undefined {
  return tallies.find((tally) => tally.run === run && tally.config === config);
}

/** Compares two tallies; a missing one counts as all zeros. */
function isSameTally(left: Tally | undefined, right: Tally | undefined): boolean {
  const [counts, others] = [integersOf(left), integersOf(right)];
  return (
    counts.every((count, index) => count === others[index]) &&
    (['costUsd', 'wasteUsd', 'overheadUsd'] as const).every(
      (cost) => Math.abs((left?.[cost] ?? 0) - (right?.[cost] ?? 0)) < COST_TOLERANCE_USD,
    )
  );
}

function integersOf(tally: Tally | undefined): readonly number[] {
  if (tally === undefined) return [0, 0, 0, 0, 0, 0, 0, 0];
  const { counts, toGrade, correct, unpricedCalls, retries } = tally;
  return [
    counts.scored,
    counts.unparsed,
    counts.ungraded,
    counts.failed,
    toGrade,
    correct,
    unpricedCalls,
    retries,
  ];
}
