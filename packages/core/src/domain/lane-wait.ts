import * as z from 'zod';

/** A wait of a process that works on a group: it makes no calls to a lane, or a model, until then. */
export const laneWaitSchema = z.strictObject({
  /** Whom it concerns, as the key of a breaker: `lane` or `lane/model`. */
  breakerKey: z.string(),
  until: z.iso.datetime(),
  /** What the vendor said. */
  reason: z.string(),
});
/** A wait for a lane or a model; see {@link laneWaitSchema}. */
export type LaneWait = z.infer<typeof laneWaitSchema>;
