/** The local engine: a SQLite file for the queue and ledger, and plain files for artifacts. */

export { FileBlobStore } from './file-blob-store.ts';
export { createNodeDigest, fileSourceReader } from './file-source-reader.ts';
export { GroupCommit, type WriteHold, type WriteObserver } from './group-commit.ts';
export { LocalEngine } from './local-engine.ts';
export { openDatabase } from './open-database.ts';
export { ResultsAhead } from './results-ahead.ts';
export { SlotGovernor, slotsPerLane, type WatchedGovernor } from './slot-governor.ts';
export { SqliteLedger } from './sqlite-ledger.ts';
export { type Backlog, SqliteTaskQueue, type TaskScope } from './sqlite-task-queue.ts';
export { systemClock } from './system-clock.ts';
export { workGroup } from './work-group.ts';
export type { Ending, WorkEvent, WorkOrder } from './work-order.ts';
export { WorkerRegistry } from './worker-registry.ts';
