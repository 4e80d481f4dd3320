import * as z from 'zod';
import { type Closure, laneOf, subjectsOf } from '../domain/closure.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { GroupRequests, TaskCounter } from '../ports/group-requests.ts';
import type { GroupRecord, Ledger, Tally } from '../ports/ledger.ts';
import type { Parked, Watched, Watchlist } from '../ports/watchlist.ts';
import { countDone, countPlanned } from './count-cells.ts';
import { groupKey } from './finalize-group.ts';

/** A group that was stored this long ago, ms, and is not planned has lost its request. */
const PLAN_PATIENCE_MS = 120_000;
/** A group that stands still is looked into again after this, ms. */
const ASK_AGAIN_MS = 600_000;
/** A group of which nothing was done for this long, ms, is counted anew though its lanes are busy. */
const STALL_MS = 1_800_000;
/** Calls in flight when a group was cancelled have ended after this, ms. */
const CANCELLED_MS = 900_000;

/** What the steward works with. */
export interface StewardStores {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly watchlist: Watchlist;
  readonly requests: GroupRequests;
  readonly tasks: TaskCounter;
  readonly clock: Clock;
}

/** What a tick did, for the log. */
export type StewardEvent =
  | { readonly kind: 'lane-opened'; readonly subject: string }
  | { readonly kind: 'lane-probed'; readonly subject: string; readonly group: string }
  | { readonly kind: 'cells-woken'; readonly subject: string; readonly group: string }
  | { readonly kind: 'plan-requested'; readonly group: string }
  | { readonly kind: 'results-requested'; readonly group: string };

/**
 * How far a watched group is: `progress.json`, written by the steward alone, which is also its memory.
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
  openLanes: z.array(z.string()),
  isIdle: z.boolean(),
  /** When the results were asked for last, how many were done then, and which watch it was for. */
  asked: z.object({ at: z.iso.datetime(), done: z.int(), watch: z.string() }).nullable(),
  tallies: z.array(z.unknown()),
});
type Progress = z.infer<typeof progressSchema>;

/**
 * One round of the steward: opens the lanes whose time has come, wakes what was parked, and helps the
 * watched groups that have come to a halt.
 *
 * Nothing here is needed for a run in which nothing goes wrong but the waking. It only asks for work and
 * never does it, so a round is short whatever the size of the groups, and two at once do no harm.
 *
 * @throws {ThriceError} What the stores throw; the first of several groups that cannot be tended, once all
 *   others are.
 */
export async function tendGroups(
  stores: StewardStores,
  observe: (event: StewardEvent) => void,
): Promise<void> {
  const { closures, onTrial } = await openLanes(stores, observe);
  await wakeParked({ closures, onTrial, stores, observe });
  const pendingCount = await stores.requests.countTaskRequests();
  const failures: unknown[] = [];
  for (const watched of await stores.watchlist.listWatched()) {
    await tendWatched(watched, { closures, pendingCount, stores, observe }).catch(
      (error: unknown) => failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
}

/** @returns The closures that stay, and what is open on trial: nobody knows whether its quota is back. */
async function openLanes(
  { ledger, clock }: StewardStores,
  observe: (event: StewardEvent) => void,
): Promise<{ readonly closures: ReadonlySet<string>; readonly onTrial: ReadonlySet<string> }> {
  const closures = new Set<string>();
  const onTrial = new Set<string>();
  for (const closure of await ledger.listClosures()) {
    const { subject } = closure;
    if (!isDue(closure, clock)) {
      closures.add(subject);
      continue;
    }
    if (!hasReset(closure)) onTrial.add(subject);
    await ledger.open(subject);
    observe({ kind: 'lane-opened', subject });
  }
  return { closures, onTrial };
}

/**
 * Whether a closed lane is worth another call: at its reset where that is known and was still to come,
 * else after `limits.quotaProbeMs`. What is misconfigured does not mend itself.
 */
function isDue(closure: Closure, clock: Clock): boolean {
  const { error, closedAt, resetAt } = closure;
  if (error.class !== 'exhausted') return false;
  const nowMs = clock.now();
  if (hasReset(closure)) return clock.toIso(nowMs) >= (resetAt ?? '');
  return clock.toIso(nowMs - limits.quotaProbeMs) >= closedAt;
}

/** Whether it said when it opens; a reset that was over already says nothing. */
function hasReset({ closedAt, resetAt }: Closure): boolean {
  // Instants are compared as texts: all are ISO-8601 UTC.
  return resetAt !== null && resetAt > closedAt;
}

/**
 * Asks for the tasks of what is parked and open again: of a subject on trial for one, and for the others
 * in the next round if it is open then. All of them would only come to be parked again.
 */
async function wakeParked(
  round: Pick<Round, 'closures' | 'stores' | 'observe'> & { readonly onTrial: ReadonlySet<string> },
): Promise<void> {
  const { closures, onTrial, stores } = round;
  for (const parked of await stores.watchlist.listParked()) {
    if (closures.has(parked.subject)) continue;
    const isTrial = onTrial.has(parked.subject);
    await wake(parked, isTrial, round);
    if (!isTrial) await stores.watchlist.unpark(parked);
  }
}

async function wake(
  { subject, group }: Parked,
  isTrial: boolean,
  { stores, observe }: Pick<Round, 'stores' | 'observe'>,
): Promise<void> {
  const record = await stores.ledger.readGroup(group);
  if (record?.state !== 'active') return;
  const limit = isTrial ? { limit: 1 } : {};
  await stores.requests.askForTasks({ v: 1, group, kind: 'refill', subject, ...limit });
  observe({ kind: isTrial ? 'lane-probed' : 'cells-woken', subject, group });
}

interface Round {
  readonly closures: ReadonlySet<string>;
  /** Requests for tasks that are not served yet. */
  readonly pendingCount: number;
  readonly stores: StewardStores;
  readonly observe: (event: StewardEvent) => void;
}

interface Tending extends Round {
  readonly watched: Watched;
  readonly record: GroupRecord;
}

async function tendWatched(watched: Watched, round: Round): Promise<void> {
  const { ledger, watchlist } = round.stores;
  const record = await ledger.readGroup(watched.group);
  if (record === undefined) await watchlist.unwatch(watched);
  else await tendGroup({ ...round, watched, record });
}

async function tendGroup(tending: Tending): Promise<void> {
  const { record, watched, pendingCount, stores, observe } = tending;
  const { header, isPlanned, state } = record;
  const { group } = header;
  if (!isPlanned && state === 'active') {
    const patienceIso = stores.clock.toIso(stores.clock.now() - PLAN_PATIENCE_MS);
    if (pendingCount > 0 || header.createdAt > patienceIso) return;
    await stores.requests.askForTasks({ v: 1, group, kind: 'plan' });
    observe({ kind: 'plan-requested', group });
    return;
  }
  const before = await readProgress(group, stores.blobs);
  const now = await describeProgress(tending, before);
  if (isOver(tending, now, before)) {
    await stores.watchlist.unwatch(watched);
    return;
  }
  const isAsking = needsResults({ now, before, tending });
  const asked = isAsking
    ? { at: now.at, done: now.done, watch: watched.token }
    : (before?.asked ?? null);
  if (isAsking) {
    await stores.requests.askForResults(group, isHalted(now, before));
    observe({ kind: 'results-requested', group });
  }
  const progress = { ...now, asked };
  if (isNews(progress, before)) await writeProgress(progress, stores.blobs);
}

async function describeProgress(
  { record: { header }, closures, pendingCount, stores }: Tending,
  before: Progress | undefined,
): Promise<Progress> {
  const { ledger, clock } = stores;
  const atIso = clock.toIso(clock.now());
  const byRun = await Promise.all(header.runs.map((run) => ledger.readTallies(run)));
  const tallies = byRun.flat();
  const openLanes = lanesWithOpenCells(header, tallies, closures);
  const done = countDone(tallies);
  const isStill = before !== undefined && before.done === done;
  // Only whoever stands still needs its queues counted: each count is a request.
  const counts = isStill
    ? await Promise.all(openLanes.map((lane) => stores.tasks.countTasks(lane)))
    : [1];
  return {
    schemaVersion: 1,
    group: header.group,
    at: atIso,
    cells: countPlanned(header),
    done,
    doneSince: isStill ? before.doneSince : atIso,
    openLanes: [...openLanes],
    isIdle: pendingCount === 0 && counts.every((count) => count === 0),
    asked: null,
    tallies: [...tallies],
  };
}

/** The lanes on which something of a group could go on. */
function lanesWithOpenCells(
  header: GroupRecord['header'],
  tallies: readonly Tally[],
  closures: ReadonlySet<string>,
): readonly string[] {
  const lanes = header.configs.flatMap(({ config, cells }) => {
    const model = header.spec.configs.find(({ name }) => name === config)?.model ?? '';
    const done = countDone(tallies.filter((tally) => tally.config === config));
    const isOver = done >= cells * header.runs.length;
    const isClosed = subjectsOf(model).some((subject) => closures.has(subject));
    return isOver || isClosed ? [] : [laneOf(model)];
  });
  return [...new Set(lanes)];
}

/**
 * Results are asked for when all cells are done; when a group is halted: writing them counts the records,
 * mends the tallies and sends what is missing; and, without the latter, when it has stalled behind others:
 * its tally may be short of the whole. Then again only where there is news (a group is watched anew for
 * each cell of a rerun), or when a while has passed and the results are still not written.
 */
function needsResults({
  now,
  before,
  tending: { record, watched, stores },
}: {
  readonly now: Progress;
  readonly before: Progress | undefined;
  readonly tending: Tending;
}): boolean {
  const { clock } = stores;
  const isSince = (iso: string, durationMs: number) => iso <= clock.toIso(clock.now() - durationMs);
  const asked = before?.asked ?? null;
  if (record.state === 'cancelled') return asked?.done !== now.done;
  const isDone = now.done >= now.cells;
  const isStalled = now.openLanes.length > 0 && isSince(now.doneSince, STALL_MS);
  if (!isDone && !isHalted(now, before) && !isStalled) return false;
  if (asked === null || asked.done !== now.done) return true;
  if (isDone && asked.watch !== watched.token) return true;
  const isPaused = !isDone && now.openLanes.length === 0;
  const patienceMs = isDone || isHalted(now, before) ? ASK_AGAIN_MS : STALL_MS;
  return !isPaused && isSince(asked.at, patienceMs);
}

/** Nothing done and nothing in its queues twice in a row, for the counts lag. */
function isHalted(now: Progress, before: Progress | undefined): boolean {
  return now.isIdle && before?.isIdle === true && before.done === now.done;
}

/** Of a cancelled group: whether the last call that was in flight has long been counted. */
function isOver({ record, stores }: Tending, now: Progress, before: Progress | undefined): boolean {
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
