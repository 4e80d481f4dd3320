/** What stacks/*.ts create in production, as far as it costs or limits something. */

/** The built-in lanes and the simulator's. */
const LANE_COUNT = 8;
/** `CONTROL_CONCURRENCY` of stacks/functions.ts, for the plan and the finalize function each. */
const CONTROL_CONCURRENCY = 2;
/** Only one reconciler at a time. */
const RECONCILER_CONCURRENCY = 1;
const FUNCTION_COUNT = 4;

/** `defaultConcurrency` of stacks/lanes.ts in production. */
export const DEFAULT_LANE_CONCURRENCY = 64;

/** Facts of a production stage. */
export const stackFacts = {
  laneCount: LANE_COUNT,
  /** Event source mappings: the lanes, plans, finalizations. */
  mappingCount: LANE_COUNT + 2,
  /** stacks/alarms.ts: two DLQ message queues, each consumed queue, two for each function. */
  alarmCount: 2 + (LANE_COUNT + 2) + 2 * FUNCTION_COUNT,
  /** Invocations reserved for the other lanes while one is raised. */
  otherLanesConcurrency: (LANE_COUNT - 1) * DEFAULT_LANE_CONCURRENCY,
  /** Invocations reserved for plan, finalize and reconciler. */
  controlConcurrency: 2 * CONTROL_CONCURRENCY + RECONCILER_CONCURRENCY,
  answerMemoryMb: 512,
  /** Plan and finalize: a whole CPU. */
  controlMemoryMb: 1_769,
  reconcilerMemoryMb: 512,
  /** A tick that finds nothing to do, s; assumed. */
  reconcilerSeconds: 0.3,
  /** OpenBreakers, deferred cells, watched groups, each a Query; assumed. */
  reconcilerReadUnits: 3,
  /** Queues whose messages a tick counts where nothing stands still: that of plans. */
  reconcilerQueueCounts: 1,
  /** Lambda's own lines of a tick, bytes; assumed. */
  reconcilerLogBytes: 500,
} as const;
