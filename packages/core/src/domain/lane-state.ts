import * as z from 'zod';

const countSchema = z.number().nonnegative();
const perMinuteSchema = z.number().positive().nullable();
const rateLimitsSchema = z.strictObject({
  requestsPerMinute: perMinuteSchema,
  tokensPerMinute: perMinuteSchema,
});
/** Limits a minute; null where there is none, as far as is known. */
export type RateLimits = Readonly<z.infer<typeof rateLimitsSchema>>;

/** What refusals have shown to be possible; null while calls need not wait. */
const rateSchema = rateLimitsSchema.extend({ requestsPerMinute: z.number().positive() }).nullable();

/** What is known of the limits of one model on a lane. All ages and durations are ms at the time of `atMs` of the lane. */
const modelLimitSchema = z.strictObject({
  rate: rateSchema,
  /** How long the rate has risen. */
  risingMs: countSchema,
  /** The length of the lane's windows, of which the rise depends. */
  windowMs: countSchema,
  /** The cut whose effect is still to be seen; null if there is none. */
  cut: z
    .strictObject({
      /** The rate before it, and before those in a row that did not help. */
      rateBefore: rateSchema,
      /** How many there were in a row, this one included. */
      count: z.int(),
      /** The share of the calls that were refused before it, 0..1. */
      refusedRatio: z.number().min(0).max(1),
    })
    .nullable(),
  /** Whether all workers know of the model and its last cut: what they have sent before counts for nothing. */
  isKnown: z.boolean(),
  /** Share of the calls that are refused by chance, whatever the rate is, 0..1. */
  chanceRatio: z.number().min(0).max(1),
  /** How long ago that was found out. */
  chanceAgeMs: countSchema,
  /** Calls sent and refused since the last judgment. */
  sent: countSchema,
  refused: countSchema,
  /** Calls that were answered meanwhile, and their tokens. */
  answered: countSchema,
  tokens: countSchema,
  /** The time that the reports of these cover, summed over the workers. */
  countedMs: countSchema,
  /** Calls answered during the minute that has begun, and in the one before; null if that is the first. */
  minute: z.strictObject({
    ageMs: countSchema,
    answered: countSchema,
    before: countSchema.nullable(),
  }),
  /** How long the model has done nothing but refuse; 0 if it has not refused since its last answer. */
  onlyRefusedMs: countSchema,
  /** How long the vendor asked to wait, at most, with the refusals of the window. */
  retryAfterMs: countSchema,
  /** No call for so long: nothing was answered in a whole window, and the vendor asked to wait. */
  holdMs: countSchema,
  /** What the vendor states in its headers; null where it does not. */
  stated: rateLimitsSchema,
  /** What the vendor said with its last refusal, for people; null without a refusal. */
  reason: z.string().nullable(),
});
/** What is known of the limits of one model on a lane; see {@link laneStateSchema}. */
export type ModelLimit = z.infer<typeof modelLimitSchema>;

/** The workers that reported during a window. */
const workersSchema = z.strictObject({
  count: countSchema,
  /** Those whose calls had to wait for the lane. */
  hungry: countSchema,
  /** What the others used of the lane, 0..1. */
  usedRatio: countSchema,
});

/**
 * The limits of a lane, as all of its workers hold them together: the one record of the lane.
 *
 * It has no instant but the time of its last write: clocks are set, and differ between machines, so that only the time
 * since then is read from one.
 */
export const laneStateSchema = z.strictObject({
  schemaVersion: z.literal(1),
  lane: z.string(),
  /** Counts the writes; tells two states apart. */
  revision: z.int(),
  /** Since 1970, by the clock of the last writer. */
  atMs: z.number(),
  /** The window in which workers report, each once. */
  window: workersSchema.extend({ no: z.int(), ageMs: countSchema }),
  /** Those of the window before. */
  workers: workersSchema,
  /** By the name of the model. */
  models: z.record(z.string(), modelLimitSchema),
});
/** The limits of a lane; see {@link laneStateSchema}. */
export type LaneState = z.infer<typeof laneStateSchema>;

/** What a worker has done on a lane since its last report. */
export interface LaneReport {
  /** Whether it is the worker's first of the window. */
  readonly isCheckIn: boolean;
  /** Whether calls of the worker had to wait for the lane. */
  readonly isHungry: boolean;
  /** What it used of the lane, 0..1. */
  readonly usedRatio: number;
  /** By the name of the model. */
  readonly models: ReadonlyMap<string, ModelReport>;
}

/** What a worker has done with one model. */
export interface ModelReport {
  readonly answered: number;
  /** Calls that were sent and refused since all workers know of the last cut. */
  readonly sent: number;
  readonly refused: number;
  /** Of the answered calls. */
  readonly tokens: number;
  /** The time in which they were, ms. */
  readonly countedMs: number;
  /** The longest that the vendor asked to wait, ms; 0 if it did not say. */
  readonly retryAfterMs: number;
  readonly reason: string | null;
  readonly stated: RateLimits;
}
