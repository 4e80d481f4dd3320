import * as z from 'zod';

/**
 * What is stored of a response that a vendor prepares while no connection is held: one in the background (a submission),
 * or those of a batch. Both are submitted, polled and recorded.
 *
 * announced --the vendor has named it--> accepted --it is polled until it ends--> recorded
 *
 * State first: it is announced before it is sent, and its name is stored before anybody waits for it. So no two workers
 * submit it, and a worker that dies in between is found out: one that was announced and no more may have reached the
 * vendor, or not.
 */
export const announcementFacts = {
  /** When it was about to be sent, ms since 1970. */
  submittedAtMs: z.number(),
  /** When it was polled last, or else was about to be sent, and how old it was then, ms. */
  polledAtMs: z.number(),
  ageMs: z.number(),
};

/** What is added once the vendor has accepted it. */
export const pendingResponseSchema = z.strictObject({
  endpoint: z.string(),
  /** The vendor's name of it. */
  vendorId: z.string(),
});
/** A response that a vendor prepares, under the vendor's name of it. */
export type PendingResponse = Readonly<z.infer<typeof pendingResponseSchema>>;
