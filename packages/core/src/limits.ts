/** Numbers that both the engines and the cloud stacks build on; times in the unit of their name. */
export const limits = {
  /** A lease and a message's invisibility: a dead worker's cell is free again after this. */
  leaseMs: 60_000,
  /** How often a worker extends what it holds. */
  heartbeatMs: 20_000,
  /** A backoff up to this long is waited for inside the attempt; a longer one releases the cell. */
  inDeliveryWaitMs: 1_000,
  /** First retry delay before jitter. */
  backoffBaseMs: 500,
  /** Largest retry delay before jitter. */
  backoffCapMs: 60_000,
  /** First wait for an exhausted lane that named no reset time. */
  quotaBackoffBaseMs: 5_000,
  /** Largest wait for an exhausted lane that named no reset time. */
  quotaBackoffCapMs: 1_800_000,
  /** Wait for an exhausted lane that named no reset time, where nobody counts how often it closed. */
  halfOpenAfterMs: 300_000,
  /** The longest a call may take in a stage: a function has 15 minutes, and some of them are for the rest. */
  stageCallMs: 840_000,
  /** How long the message of a deferred cell (its model is blocked) stays away from its queue. */
  deferredDelayMs: 5_000,
  /** Attempts kept per cell; older ones are dropped. */
  attemptLogLength: 50,
  /** An error text is cut to this length before it is stored. */
  errorTextChars: 500,
  /** Questions, cells and keys are read in pages of this size. */
  pageSize: 500,
} as const;
