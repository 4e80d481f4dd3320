import * as z from 'zod';
import { breakersFor, laneOf, type OpenBreaker, type OpenBreakers } from '../domain/breaker.ts';
import { countDone, countPlanned } from '../domain/count-cells.ts';
import { limits } from '../limits.ts';
import type { ActiveGroup, ActiveGroups, DeferredCells } from '../ports/active-groups.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { GroupRequests, TaskCounter } from '../ports/group-requests.ts';
import type { GroupRecord, Ledger, Tally } from '../ports/ledger.ts';
import { groupKey } from './finalize-group.ts';

/** A group that was stored this long ago, ms, and is not planned has lost its request. */
const PLAN_PATIENCE_MS = 120_000;
/** A group that stands still is looked into again after this, ms. */
const ASK_AGAIN_MS = 600_000;
/** A group of which nothing was done for this long, ms, is counted anew though its lanes are busy. */
const STALL_MS = 1_800_000;
/** Calls in flight when a group was cancelled have ended after this, ms. */
const CANCELLED_MS = 900_000;

/** What the reconciler works with. */
export interface ReconcilerStores {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly activeGroups: ActiveGroups;
  readonly requests: GroupRequests;
  readonly tasks: TaskCounter;
  readonly clock: Clock;
}

/** What a tick did, for the log. */
export type ReconcilerEvent =
  | { readonly kind: 'breaker-closed'; readonly breakerKey: string }
  | { readonly kind: 'breaker-half-opened'; readonly breakerKey: string; readonly group: string }
  | { readonly kind: 'deferred-cells-resumed'; readonly breakerKey: string; readonly group: string }
  | { readonly kind: 'plan-requested'; readonly group: string }
  | { readonly kind: 'results-requested'; readonly group: string };

/**
 * How far a watched group is: `progress.json`, written by the reconciler alone, which is also its memory.
 *
 * `done` counts results by the tallies; `isIdle` says that no queue held anything for its open lanes.
 */
const progressSchema = z.object({
  schemaVersion: z.literal(1),
  group: z.string(),
  at: z.iso.datetime(),
  cells: z.int(),
  done: z.int(),
  /** Since when `done` is what it is. */
  doneSince: z.iso.datetime(),
  /** Lanes on which something could go on. */
  activeLanes: z.array(z.string()),
  isIdle: z.boolean(),
  /** When the results were asked for last, how many were done then, and which watch it was for. */
  asked: z.object({ at: z.iso.datetime(), done: z.int(), watch: z.string() }).nullable(),
  tallies: z.array(z.unknown()),
});
type Progress = z.infer<typeof progressSchema>;

/**
 * One round of the reconciler: opens the lanes whose time has come, wakes what was deferred, and helps the
 * watched groups that have come to a halt.
 *
 * Nothing here is needed for a run in which nothing goes wrong but the waking. It only asks for work and
 * never does it, so a round is short whatever the size of the groups, and two at once do no harm.
 *
 * @throws {ThriceError} What the stores throw; the first of several groups that cannot be tended, once all
 *   others are.
 */
export async function reconcileGroups(
  stores: ReconcilerStores,
  observe: (event: ReconcilerEvent) => void,
): Promise<void> {
  const { openBreakers, halfOpen } = await closeDueBreakers(stores, observe);
  await resumeDeferred({ openBreakers, halfOpen, stores, observe });
  const pendingCount = await stores.requests.countDispatchRequests();
  const failures: unknown[] = [];
  for (const activeGroup of await stores.activeGroups.list()) {
    await reconcileActiveGroup(activeGroup, { openBreakers, pendingCount, stores, observe }).catch(
      (error: unknown) => failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
}

/** @returns The open breakers that stay, and what is open half-open: nobody knows whether its quota is back. */
async function closeDueBreakers(
  { ledger, clock }: ReconcilerStores,
  observe: (event: ReconcilerEvent) => void,
): Promise<{ readonly openBreakers: OpenBreakers; readonly halfOpen: ReadonlySet<string> }> {
  const openBreakers = new Map<string, OpenBreaker>();
  const halfOpen = new Set<string>();
  for (const breaker of await ledger.listOpenBreakers()) {
    const { breakerKey } = breaker;
    if (!isDue(breaker, clock)) {
      openBreakers.set(breakerKey, breaker);
      continue;
    }
    if (!hasReset(breaker)) halfOpen.add(breakerKey);
    await ledger.closeBreaker(breakerKey);
    observe({ kind: 'breaker-closed', breakerKey });
  }
  return { openBreakers, halfOpen };
}

/**
 * Whether a blocked lane is worth another call: at its reset where that is known and was still to come,
 * else after `limits.halfOpenAfterMs`. What is misconfigured does not repair itself.
 */
function isDue(breaker: OpenBreaker, clock: Clock): boolean {
  const { error, openedAt, resetAt } = breaker;
  if (error.class !== 'exhausted') return false;
  const nowMs = clock.now();
  if (hasReset(breaker)) return clock.toIso(nowMs) >= (resetAt ?? '');
  return clock.toIso(nowMs - limits.halfOpenAfterMs) >= openedAt;
}

/** Whether it said when it opens; a reset that was over already says nothing. */
function hasReset({ openedAt, resetAt }: OpenBreaker): boolean {
  // Instants are compared as texts: all are ISO-8601 UTC.
  return resetAt !== null && resetAt > openedAt;
}

/**
 * Asks for the tasks of what is deferred and open again: of a subject half-open for one, and for the others
 * in the next round if it is open then. All of them would only come to be deferred again.
 */
async function resumeDeferred(
  round: Pick<Round, 'openBreakers' | 'stores' | 'observe'> & {
    readonly halfOpen: ReadonlySet<string>;
  },
): Promise<void> {
  const { openBreakers, halfOpen, stores } = round;
  for (const deferred of await stores.activeGroups.listDeferred()) {
    if (openBreakers.has(deferred.breakerKey)) continue;
    const isHalfOpen = halfOpen.has(deferred.breakerKey);
    await requestDeferred(deferred, isHalfOpen, round);
    if (!isHalfOpen) await stores.activeGroups.removeDeferred(deferred);
  }
}

async function requestDeferred(
  { breakerKey, group }: DeferredCells,
  isHalfOpen: boolean,
  { stores, observe }: Pick<Round, 'stores' | 'observe'>,
): Promise<void> {
  const record = await stores.ledger.readGroup(group);
  if (record?.state !== 'active') return;
  const limit = isHalfOpen ? { limit: 1 } : {};
  await stores.requests.requestDispatch({ v: 1, group, kind: 'refill', breakerKey, ...limit });
  observe({
    kind: isHalfOpen ? 'breaker-half-opened' : 'deferred-cells-resumed',
    breakerKey,
    group,
  });
}

interface Round {
  readonly openBreakers: OpenBreakers;
  /** Requests for tasks that are not served yet. */
  readonly pendingCount: number;
  readonly stores: ReconcilerStores;
  readonly observe: (event: ReconcilerEvent) => void;
}

interface Reconciliation extends Round {
  readonly activeGroup: ActiveGroup;
  readonly record: GroupRecord;
}

async function reconcileActiveGroup(activeGroup: ActiveGroup, round: Round): Promise<void> {
  const { ledger, activeGroups } = round.stores;
  const record = await ledger.readGroup(activeGroup.group);
  if (record === undefined) await activeGroups.remove(activeGroup);
  else await reconcileGroup({ ...round, activeGroup, record });
}

async function reconcileGroup(reconciliation: Reconciliation): Promise<void> {
  const { record, activeGroup, pendingCount, stores, observe } = reconciliation;
  const { header, isPlanned, state } = record;
  const { group } = header;
  if (!isPlanned && state === 'active') {
    const patienceIso = stores.clock.toIso(stores.clock.now() - PLAN_PATIENCE_MS);
    if (pendingCount > 0 || header.createdAt > patienceIso) return;
    await stores.requests.requestDispatch({ v: 1, group, kind: 'plan' });
    observe({ kind: 'plan-requested', group });
    return;
  }
  const before = await readProgress(group, stores.blobs);
  const now = await describeProgress(reconciliation, before);
  if (isFinished(reconciliation, now, before)) {
    await stores.activeGroups.remove(activeGroup);
    return;
  }
  const isAsking = needsResults({ now, before, reconciliation });
  const asked = isAsking
    ? { at: now.at, done: now.done, watch: activeGroup.token }
    : (before?.asked ?? null);
  if (isAsking) {
    await stores.requests.requestResults(group, isHalted(now, before));
    observe({ kind: 'results-requested', group });
  }
  const progress = { ...now, asked };
  if (isNews(progress, before)) await writeProgress(progress, stores.blobs);
}

async function describeProgress(
  { record: { header }, openBreakers, pendingCount, stores }: Reconciliation,
  before: Progress | undefined,
): Promise<Progress> {
  const { ledger, clock } = stores;
  const atIso = clock.toIso(clock.now());
  const byRun = await Promise.all(header.runs.map((run) => ledger.readTallies(run)));
  const tallies = byRun.flat();
  const activeLanes = lanesWithWork(header, tallies, openBreakers);
  const done = countDone(tallies);
  const isStill = before !== undefined && before.done === done;
  // Only whoever stands still needs its queues counted: each count is a request.
  const counts = isStill
    ? await Promise.all(activeLanes.map((lane) => stores.tasks.countTasks(lane)))
    : [1];
  return {
    schemaVersion: 1,
    group: header.group,
    at: atIso,
    cells: countPlanned(header),
    done,
    doneSince: isStill ? before.doneSince : atIso,
    activeLanes: [...activeLanes],
    isIdle: pendingCount === 0 && counts.every((count) => count === 0),
    asked: null,
    tallies: [...tallies],
  };
}

/** The lanes on which something of a group could go on. */
function lanesWithWork(
  header: GroupRecord['header'],
  tallies: readonly Tally[],
  openBreakers: OpenBreakers,
): readonly string[] {
  const lanes = header.configs.flatMap(({ config, cells }) => {
    const model = header.spec.configs.find(({ name }) => name === config)?.model ?? '';
    const done = countDone(tallies.filter((tally) => tally.config === config));
    const isFinished = done >= cells * header.runs.length;
    const isBlocked = breakersFor(model, openBreakers).length > 0;
    return isFinished || isBlocked ? [] : [laneOf(model)];
  });
  return [...new Set(lanes)];
}

/**
 * Results are asked for when all cells are done; when a group is halted: writing them counts the records,
 * repairs the tallies and sends what is missing; and, without the latter, when it has stalled behind others:
 * its tally may be short of the whole. Then again only where there is news (a group is watched anew for
 * each cell of a rerun), or when a while has passed and the results are still not written.
 */
function needsResults({
  now,
  before,
  reconciliation: { record, activeGroup, stores },
}: {
  readonly now: Progress;
  readonly before: Progress | undefined;
  readonly reconciliation: Reconciliation;
}): boolean {
  const { clock } = stores;
  const isSince = (iso: string, durationMs: number) => iso <= clock.toIso(clock.now() - durationMs);
  const asked = before?.asked ?? null;
  if (record.state === 'cancelled') return asked?.done !== now.done;
  const isDone = now.done >= now.cells;
  const isStalled = now.activeLanes.length > 0 && isSince(now.doneSince, STALL_MS);
  if (!isDone && !isHalted(now, before) && !isStalled) return false;
  if (asked === null || asked.done !== now.done) return true;
  if (isDone && asked.watch !== activeGroup.token) return true;
  const isPaused = !isDone && now.activeLanes.length === 0;
  const patienceMs = isDone || isHalted(now, before) ? ASK_AGAIN_MS : STALL_MS;
  return !isPaused && isSince(asked.at, patienceMs);
}

/** Nothing done and nothing in its queues twice in a row, for the counts lag. */
function isHalted(now: Progress, before: Progress | undefined): boolean {
  return now.isIdle && before?.isIdle === true && before.done === now.done;
}

/** Of a cancelled group: whether the last call that was in flight has long been counted. */
function isFinished(
  { record, stores }: Reconciliation,
  now: Progress,
  before: Progress | undefined,
): boolean {
  if (record.state !== 'cancelled') return false;
  const { clock } = stores;
  const isPublished = before?.asked?.done === now.done;
  return isPublished && now.doneSince <= clock.toIso(clock.now() - CANCELLED_MS);
}

async function readProgress(group: string, blobs: BlobStore): Promise<Progress | undefined> {
  const text = await blobs.readText(groupKey(group, 'progress.json'));
  if (text === undefined) return undefined;
  try {
    return progressSchema.parse(JSON.parse(text));
  } catch {
    // Written by another version, or by hand: it is a memory of the last minute, no record.
    return undefined;
  }
}

async function writeProgress(progress: Progress, blobs: BlobStore): Promise<void> {
  const text = `${JSON.stringify(progress, null, 2)}\n`;
  await blobs.write(groupKey(progress.group, 'progress.json'), [text]);
}

function isNews(now: Progress, before: Progress | undefined): boolean {
  return JSON.stringify({ ...now, at: '' }) !== JSON.stringify({ ...before, at: '' });
}
