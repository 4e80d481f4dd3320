import * as z from 'zod';
import { errorCodeSchema } from './error-code.ts';
import { announcementFacts, pendingResponseSchema } from './pending-response.ts';

const facts = {
  schemaVersion: z.literal(1),
  /** The cell's step that the response is for. */
  step: z.string(),
  /** Identifies the request among all requests for the step; the vendor is told. The call has the same id. */
  callId: z.string(),
  ...announcementFacts,
  /** Time spent waiting for a permit before that, ms. */
  waitMs: z.number(),
};

/**
 * A response that a model prepares in the background, for one step of a cell: a pending response.
 *
 * announced --the vendor has accepted it--> accepted --its end is no answer--> ended
 * announced --the vendor has refused it--> ended
 * ended, or announced by a worker that died --another attempt--> announced, under another call id
 *
 * One that was accepted ends in the journal, as the answer or as a discarded call.
 */
export const submissionSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('announced'), ...facts }),
  z.strictObject({ state: z.literal('accepted'), ...facts, ...pendingResponseSchema.shape }),
  z.strictObject({ state: z.literal('ended'), ...facts, reason: errorCodeSchema }),
]);
/** A response that a model prepares in the background; see {@link submissionSchema}. */
export type Submission = z.infer<typeof submissionSchema>;
/** A submission whose response the vendor has named. */
export type AcceptedSubmission = Extract<Submission, { readonly state: 'accepted' }>;

/** Whether two submissions are the same request in the same state. */
export function isSameSubmission(
  left: Submission | undefined,
  right: Submission | undefined,
): boolean {
  return left?.callId === right?.callId && left?.state === right?.state;
}
