// What stacks/*.ts create in production, as far as it affects cost or limits.

/** The built-in lanes and the simulator's. */
const LANE_COUNT = 8;
const FUNCTION_COUNT = 4;

/** `defaults.maximumConcurrency` of stacks/lanes.ts in production. */
export const DEFAULT_LANE_CONCURRENCY = 64;

/** Facts of a production stage. */
export const stackFacts = {
  laneCount: LANE_COUNT,
  /** Event source mappings: one per lane, plus plan and finalize. */
  mappingCount: LANE_COUNT + 2,
  pollersPerMapping: 5,
  /** What plan and finalize, two each, and the reconciler use at most. */
  controlConcurrency: 5,
  /**
   * Metrics that stacks/alarms.ts watches: three per dead-letter queue, one per consumed queue, two for stuck work, two
   * per function.
   */
  alarmCount: 2 * 3 + (LANE_COUNT + 2) + 2 + 2 * FUNCTION_COUNT,
  answerMemoryMb: 512,
  /** Plan and finalize: a whole CPU. */
  controlMemoryMb: 1_769,
  /** A tick of the reconciler that finds nothing to do; assumed but for its memory. */
  reconciler: {
    memoryMb: 1024,
    seconds: 0.3,
    /** Open breakers, deferred cells, active groups and unsent notifications, a Query each. */
    readUnits: 4,
    /** Queues whose messages it counts while nothing is stalled: the plan queue. */
    queueCounts: 1,
    /** Lambda's own log lines. */
    logBytes: 500,
  },
} as const;
