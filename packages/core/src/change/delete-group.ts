import { dropMessages } from '../dlq/replay.ts';
import { gradeConfigsOf } from '../domain/config-models.ts';
import { type GroupHeader, questionKeysOf } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import { mapBounded } from '../map-bounded.ts';
import type { ActiveGroups } from '../ports/active-groups.ts';
import type { BlobRemover } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { DlqScan } from '../ports/dead-letter-queue.ts';
import type { GroupRecords } from '../ports/group-records.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { WorkLeases } from '../ports/work-leases.ts';

/** Configs whose records are deleted concurrently. */
const CONFIGS_AT_ONCE = 4;
/** How often to check whether workers still hold cells, ms. */
const HELD_POLL_MS = 5_000;
/** How long a worker or reconciler may still act on what it has read of the group before it was marked, ms. */
const MARK_UNNOTICED_MS = 2 * limits.recentMs + 1_000;
/** A worker that writes results notices that it has lost them when it next extends its lease; the rest is for a page. */
const WORK_UNNOTICED_MS = limits.heartbeatMs + 10_000;

/** The stores that a group is deleted from. */
export interface DeletionStores {
  readonly ledger: Pick<Ledger, 'setGroupState' | 'listGroups'>;
  readonly records: GroupRecords;
  readonly blobs: BlobRemover;
  readonly clock: Pick<Clock, 'sleep'>;
  /** What only a stage has. */
  readonly stageLists?:
    | {
        readonly activeGroups: ActiveGroups;
        readonly workLeases: Pick<WorkLeases, 'revokeAll'>;
        readonly openDlqScan: () => DlqScan;
      }
    | undefined;
}

/** Options of {@link deleteGroup}. */
export interface DeletionOptions {
  /** Aborts to stop; the next deletion of the group continues. */
  readonly signal: AbortSignal;
  /** Called while workers hold cells of the group, with how many. */
  readonly onHeld: (cellCount: number) => void;
}

/** What a deletion found besides the group. */
export interface Deletion {
  /** DLQ messages of the group that were deleted. */
  readonly dlqMessages: number;
  /** DLQ messages that other readers held; some of them may be of the group. */
  readonly unseenDlqMessages: number;
  /** Whether its questions stay because another group uses the same ones, or cannot be read and may. */
  readonly sharesQuestions: boolean;
}

/**
 * Marks groups that nobody works on: from then on nothing can be done with them but to delete them, and workers that
 * receive their tasks drop them. In a stage, resolves when the workers have noticed.
 *
 * @throws {ThriceError} `interrupted` when `signal` aborts.
 */
export async function markForDeletion(
  headers: readonly GroupHeader[],
  { ledger, clock, stageLists }: Pick<DeletionStores, 'ledger' | 'clock' | 'stageLists'>,
  { signal }: Pick<DeletionOptions, 'signal'>,
): Promise<void> {
  for (const { group } of headers) await ledger.setGroupState(group, 'deleting');
  if (headers[0] === undefined || stageLists === undefined) return;
  await clock.sleep(MARK_UNNOTICED_MS, signal);
  throwIfAborted(headers[0].group, signal);
}

/**
 * Deletes a marked group: its records, DLQ messages, files and, unless another group uses them, questions.
 *
 * The header goes last, so that a deletion that was killed can be repeated and completes. Waits for workers that still
 * hold cells, or write results.
 *
 * @throws {ThriceError} `interrupted` when `signal` aborts.
 */
export async function deleteGroup(
  header: GroupHeader,
  stores: DeletionStores,
  options: DeletionOptions,
): Promise<Deletion> {
  const { group } = header;
  const { ledger, records, blobs, stageLists } = stores;
  if (stageLists !== undefined) await revokeWork(group, stageLists.workLeases, stores, options);
  await deleteAllRecords(header, stores, options);
  // After its cells: whoever worked on one may have shared a call until then.
  for (const run of header.runs) await records.deleteResponseCache(run);
  const scanned = await dropAllMessages(header, stores, options.signal);
  await blobs.removeFolder(`runs/${group}`);
  await blobs.removeFolder(`checkpoints/${group}`);
  // After its records, because a worker that ends a cell may enter its group again.
  if (stageLists !== undefined) await leaveLists(group, stageLists.activeGroups);
  const isShared = await findSharedQuestions(header, ledger);
  for (const key of questionKeysOf(header)) if (!isShared(key)) await blobs.remove(key);
  const sharesQuestions = isShared(header.questions.key);
  await records.deleteHeader(group);
  return { ...scanned, sharesQuestions };
}

/** Takes the group's work from the workers that plan it or write its results. */
async function revokeWork(
  group: string,
  workLeases: Pick<WorkLeases, 'revokeAll'>,
  { clock }: DeletionStores,
  { signal }: DeletionOptions,
): Promise<void> {
  if (!(await workLeases.revokeAll(group))) return;
  await clock.sleep(WORK_UNNOTICED_MS, signal);
  throwIfAborted(group, signal);
}

/** Deletes the records, again until no worker holds a cell: whoever ends one writes records, too. */
async function deleteAllRecords(
  header: GroupHeader,
  { records, clock }: DeletionStores,
  { signal, onHeld }: DeletionOptions,
): Promise<void> {
  const { group, runs, configs } = header;
  const names = [...configs.map(({ config }) => config), ...gradeConfigsOf(header)];
  const parts = runs.flatMap((run) => names.map((config) => ({ run, config })));
  const deleteParts = async (): Promise<number> => {
    const held = await mapBounded(parts, CONFIGS_AT_ONCE, async ({ run, config }) => {
      throwIfAborted(group, signal);
      return await records.deleteRecords(run, config);
    });
    return held.reduce((sum, count) => sum + count, 0);
  };
  let held = await deleteParts();
  while (held > 0) {
    onHeld(held);
    await clock.sleep(HELD_POLL_MS, signal);
    held = await deleteParts();
    if (held > 0) continue;
    // The last worker counts its cell right after it has ended it.
    await clock.sleep(HELD_POLL_MS, signal);
    held = await deleteParts();
  }
}

async function dropAllMessages(
  { group, runs }: GroupHeader,
  { stageLists }: DeletionStores,
  signal: AbortSignal,
): Promise<Pick<Deletion, 'dlqMessages' | 'unseenDlqMessages'>> {
  if (stageLists === undefined) return { dlqMessages: 0, unseenDlqMessages: 0 };
  await using scan = stageLists.openDlqScan();
  const selection = { scan, filter: { runs: new Set(runs) }, stop: signal };
  const { messages, unseen } = await dropMessages(selection);
  throwIfAborted(group, signal);
  return { dlqMessages: messages.dropped, unseenDlqMessages: unseen };
}

async function leaveLists(group: string, activeGroups: ActiveGroups): Promise<void> {
  const active = await activeGroups.find(group);
  if (active !== undefined) await activeGroups.remove(active);
  for (const deferred of await activeGroups.listDeferred()) {
    if (deferred.group === group) await activeGroups.removeDeferred(deferred);
  }
}

/** Tells which questions another group uses, or may use: nobody knows those of a group that cannot be read. */
async function findSharedQuestions(
  { group }: GroupHeader,
  ledger: DeletionStores['ledger'],
): Promise<(key: string) => boolean> {
  let isAnyUnreadable = false;
  const records = await ledger.listGroups(() => {
    isAnyUnreadable = true;
  });
  const others = records.filter(({ header }) => header.group !== group);
  const keys = new Set(others.flatMap(({ header }) => [...questionKeysOf(header)]));
  return (key) => isAnyUnreadable || keys.has(key);
}

function throwIfAborted(group: string, signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new ThriceError({
    code: 'interrupted',
    message: `stopped while deleting ${group}; delete it again to complete that`,
  });
}
