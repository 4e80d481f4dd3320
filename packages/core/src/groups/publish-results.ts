import { resolveBenchmark } from '../builtins.ts';
import { countDone, countPlanned } from '../domain/count-cells.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { ResultRequest } from '../domain/group-request.ts';
import { ThriceError } from '../errors.ts';
import type { ActiveGroup, ActiveGroups } from '../ports/active-groups.ts';
import type { GroupRequests } from '../ports/group-requests.ts';
import type { GroupRecord, Ledger, Tally } from '../ports/ledger.ts';
import { TallyCounter } from '../results/tally-counter.ts';
import { earlyExitCodes, type FinalizeStores, finalizeGroup } from './finalize-group.ts';

/** Times the results are written while cells go on being completed. */
const MAX_PASSES = 3;
/** Sums of costs may differ by the order of their terms. */
const COST_TOLERANCE_USD = 1e-6;

/** What {@link publishResults} works with. */
export interface PublicationStores extends FinalizeStores {
  readonly activeGroups: ActiveGroups;
  readonly requests: GroupRequests;
}

/** What {@link publishResults} found. */
export interface Publication {
  readonly cells: number;
  /** Cells with a result, by their records. */
  readonly done: number;
}

/** What tells whether cells were completed between two looks; those of a rerun watch their group anew. */
interface Snapshot {
  readonly tallies: readonly Tally[];
  readonly activeGroup: ActiveGroup | undefined;
}

/**
 * Writes the results of a group as they stand, repairs its tallies, and sees to it that it goes on.
 *
 * Written again while cells are completed meanwhile; a group that does not come to rest is watched anew,
 * so that of several writers at once one that has seen everything is the last. A group that is whole
 * leaves the list of active groups; of one that is halted short of that, the missing tasks are asked for.
 *
 * @throws {ThriceError} `unknown-group` when there is none.
 */
export async function publishResults(
  { group, isHalted = false }: Pick<ResultRequest, 'group' | 'isHalted'>,
  stores: PublicationStores,
): Promise<Publication> {
  const { ledger, activeGroups, requests } = stores;
  const record = await readRecord(group, ledger);
  const pass = await writeUntilSettled(record, stores);
  for (const tally of pass.counted) await repairTally(tally, pass, ledger);
  const cells = countPlanned(record.header);
  const done = countDone(pass.counted);
  const { activeGroup } = pass.after;
  if (!pass.isSettled) await activeGroups.add(group);
  else if (done < cells && isHalted) await requestMissing(record, requests);
  else if (done >= cells && activeGroup !== undefined) await activeGroups.remove(activeGroup);
  return { cells, done };
}

async function readRecord(group: string, ledger: Ledger): Promise<GroupRecord> {
  const record = await ledger.readGroup(group);
  if (record !== undefined) return record;
  throw new ThriceError({ code: 'unknown-group', message: `no group ${group}` });
}

/** One writing of everything. */
interface Pass {
  /** The tallies as the records had them. */
  readonly counted: readonly Tally[];
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Whether nothing was completed from before to after. */
  readonly isSettled: boolean;
}

/** @returns The last pass. */
async function writeUntilSettled(record: GroupRecord, stores: PublicationStores): Promise<Pass> {
  let before = await takeSnapshot(record.header, stores);
  for (let passCount = 1; ; passCount += 1) {
    const counted = await writeResults(record, stores);
    const after = await takeSnapshot(record.header, stores);
    const isSettled = isUnchanged(before, after);
    if (isSettled || passCount === MAX_PASSES) return { counted, before, after, isSettled };
    before = after;
  }
}

async function takeSnapshot(
  { group, runs }: GroupHeader,
  { ledger, activeGroups }: PublicationStores,
): Promise<Snapshot> {
  const activeGroup = (await activeGroups.list()).find((entry) => entry.group === group);
  const byRun = await Promise.all(runs.map((run) => ledger.readTallies(run)));
  return { tallies: byRun.flat(), activeGroup };
}

/**
 * Writes everything once; returns the tallies as the records have them.
 *
 * How the work ended is told by the records too: a tally that is short would call a whole group paused.
 */
async function writeResults(
  { header, state }: GroupRecord,
  stores: FinalizeStores,
): Promise<readonly Tally[]> {
  const counter = new TallyCounter();
  const early = state === 'cancelled' ? earlyExitCodes.interrupted : earlyExitCodes.paused;
  await finalizeGroup(
    header,
    resolveBenchmark(header.spec, header.specSource.path),
    () => (countDone(counter.tallies()) < countPlanned(header) ? early : undefined),
    stores,
    (row) => counter.add(row),
  );
  return counter.tallies();
}

async function requestMissing(
  { header: { group }, state, isPlanned }: GroupRecord,
  requests: GroupRequests,
): Promise<void> {
  if (state !== 'active' || !isPlanned) return;
  await requests.requestDispatch({ v: 1, group, kind: 'refill' });
}

/** Puts a tally right that a crash left short, unless its run has gone on meanwhile. */
async function repairTally(counted: Tally, { before, after }: Pass, ledger: Ledger): Promise<void> {
  const existing = findTally(after.tallies, counted);
  if (!isSameTally(findTally(before.tallies, counted), existing)) return;
  if (!isSameTally(counted, existing)) await ledger.replaceTally(existing, counted);
}

function isUnchanged(before: Snapshot, after: Snapshot): boolean {
  if (before.activeGroup?.token !== after.activeGroup?.token) return false;
  return [...before.tallies, ...after.tallies].every((tally) =>
    isSameTally(findTally(before.tallies, tally), findTally(after.tallies, tally)),
  );
}

function findTally(
  tallies: readonly Tally[],
  { run, config }: Pick<Tally, 'run' | 'config'>,
): Tally | undefined {
  return tallies.find((tally) => tally.run === run && tally.config === config);
}

/** A tally that is not there is one of zeros. */
function isSameTally(left: Tally | undefined, right: Tally | undefined): boolean {
  const [counts, others] = [wholeNumbers(left), wholeNumbers(right)];
  return (
    counts.every((count, index) => count === others[index]) &&
    Math.abs((left?.costUsd ?? 0) - (right?.costUsd ?? 0)) < COST_TOLERANCE_USD
  );
}

function wholeNumbers(tally: Tally | undefined): readonly number[] {
  if (tally === undefined) return [0, 0, 0, 0, 0, 0];
  const { counts, correct, retries } = tally;
  return [counts.scored, counts.unparsed, counts.ungraded, counts.failed, correct, retries];
}
