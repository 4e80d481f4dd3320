/** The local engine: a SQLite file for the queue and ledger, and plain files for artifacts. */

export { LocalEngine } from './local-engine.ts';
export { createNodeDigest, fileSourceReader } from './sources/file-source-reader.ts';
export { isAddress, openSources } from './sources/open-sources.ts';
export { FileBlobStore } from './store/file-blob-store.ts';
export { GroupCommit, type WriteHold, type WriteObserver } from './store/group-commit.ts';
export { makeFolder } from './store/make-folder.ts';
export { openDatabase } from './store/open-database.ts';
export { SqliteBatches } from './store/sqlite-batches.ts';
export { SqliteBudgets } from './store/sqlite-budgets.ts';
export { SqliteCallPool } from './store/sqlite-call-pool.ts';
export { SqliteGroupRecords } from './store/sqlite-group-records.ts';
export { SqliteLaneLimits } from './store/sqlite-lane-limits.ts';
export { SqliteLedger } from './store/sqlite-ledger.ts';
export { SqliteNotifications } from './store/sqlite-notifications.ts';
export { type Backlog, SqliteTaskQueue, type TaskScope } from './store/sqlite-task-queue.ts';
export { WorkerRegistry } from './store/worker-registry.ts';
export { systemClock } from './system-clock.ts';
export { GroupBatches } from './work/group-batches.ts';
export { accountOf, LaneShare } from './work/lane-share.ts';
export { openGovernor } from './work/open-governor.ts';
export { ResultsAhead } from './work/results-ahead.ts';
export { SlotGovernor, slotsPerLane, type WatchedGovernor } from './work/slot-governor.ts';
export { takeOverCells } from './work/take-over-cells.ts';
export { workGroup } from './work/work-group.ts';
export type { Ending, WorkEvent, WorkOrder } from './work/work-order.ts';
