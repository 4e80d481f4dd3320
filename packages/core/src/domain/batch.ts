import * as z from 'zod';
import { reasoningEffortSchema } from './benchmark-spec.ts';
import { cellStepSchema, journalPlaceSchema, passedOverSchema } from './call.ts';
import { questionRangeSchema } from './cell-task.ts';
import { errorCodeSchema } from './error-code.ts';
import { messageSchema } from './message.ts';
import { announcementFacts, pendingResponseSchema } from './pending-response.ts';

const facts = {
  schemaVersion: z.literal(1),
  /** Ours; the vendor is told where it keeps such a name. */
  batchId: z.string(),
  group: z.string(),
  lane: z.string(),
  model: z.string(),
  callCount: z.int().min(1),
  /** Of the requests, as they are stored. */
  bytes: z.int().min(0),
  /** When the latest call entered it, ms since 1970. */
  enteredAtMs: z.number(),
};

const announcement = {
  /** The worker that looks after it, until it is gone. */
  owner: z.string(),
  ...announcementFacts,
};

/**
 * Calls of a group to one model that are sent together; their responses are pending from then on.
 *
 * gathering --it is full, or nothing else is left to do--> closed --a worker is about to send it--> announced
 * announced --the vendor has named it--> accepted --its results are recorded--> (gone)
 * announced --the vendor has refused it, or nobody knows whether it has accepted it--> (gone)
 */
export const batchSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('gathering'), ...facts }),
  z.strictObject({ state: z.literal('closed'), ...facts }),
  z.strictObject({ state: z.literal('announced'), ...facts, ...announcement }),
  z.strictObject({
    state: z.literal('accepted'),
    ...facts,
    ...announcement,
    ...pendingResponseSchema.shape,
  }),
]);
/** Calls of a group to one model that are sent together; see {@link batchSchema}. */
export type Batch = z.infer<typeof batchSchema>;
/** A batch that takes no more calls, and is not sent. */
export type ClosedBatch = Extract<Batch, { readonly state: 'closed' }>;
/** A batch that may have reached the vendor. */
export type SentBatch = Extract<Batch, { readonly state: 'announced' | 'accepted' }>;
/** Whether a vendor may work on a batch. */
export function isSentBatch(batch: Batch): batch is SentBatch {
  return batch.state === 'announced' || batch.state === 'accepted';
}
/** A batch that the vendor has named. */
export type AcceptedBatch = Extract<Batch, { readonly state: 'accepted' }>;

/** What JSON leaves out. */
const UNSAID = {
  temperature: undefined,
  maxTokens: undefined,
  topP: undefined,
  seed: undefined,
  stop: undefined,
  serviceTier: undefined,
  reasoningEffort: undefined,
  extraBody: undefined,
};

const saidSchema = z.strictObject({
  lane: z.string(),
  model: z.string(),
  messages: z.array(messageSchema).readonly(),
  tools: z
    .array(
      z.strictObject({
        name: z.string(),
        description: z.string().optional(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    )
    .readonly(),
  isStreamed: z.boolean(),
  isBackground: z.boolean(),
  temperature: z.number().optional(),
  maxTokens: z.number().optional(),
  topP: z.number().optional(),
  seed: z.number().optional(),
  stop: z.array(z.string()).readonly().optional(),
  serviceTier: z.string().optional(),
  reasoningEffort: reasoningEffortSchema.optional(),
  outputSchema: z
    .strictObject({ name: z.string(), schema: z.record(z.string(), z.unknown()) })
    .optional(),
  extraBody: z.record(z.string(), z.unknown()).optional(),
});

const requestSchema = saidSchema.transform((said) => ({ ...UNSAID, ...said }));

const callFacts = {
  schemaVersion: z.literal(1),
  batchId: z.string(),
  /** Identifies the request in its batch, and among all requests for its step. The vendor is told. */
  callId: z.string(),
  cell: cellStepSchema.omit({ step: true }),
  /** Where the question of the cell is stored: with the place, all that its task needs. */
  question: questionRangeSchema,
  /** Of its answer. */
  place: journalPlaceSchema,
  insteadOf: z.array(passedOverSchema).readonly(),
  request: requestSchema,
  /** When the cell entered it, ms since 1970. */
  enteredAtMs: z.number(),
};

/** An error as a batch keeps it for the cell that acts on it. */
const refusalSchema = z.strictObject({
  code: errorCodeSchema,
  message: z.string(),
  details: z.strictObject({
    retryAfterMs: z.number().optional(),
    resetAt: z.string().optional(),
    status: z.number().optional(),
    breakerScope: z.enum(['lane', 'model']).optional(),
    latencyMs: z.number().optional(),
    costUsd: z.number().optional(),
  }),
});

/**
 * A call of a cell in a batch, for one step.
 *
 * waiting --its answer is in the journal--> (gone)
 * waiting --its result is no answer--> refused --its cell has acted on it--> (gone)
 * waiting --it was not worked on--> unanswered --its cell has entered it in another batch--> waiting
 */
export const batchedCallSchema = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('waiting'), ...callFacts }),
  z.strictObject({ state: z.literal('refused'), ...callFacts, refusal: refusalSchema }),
  z.strictObject({ state: z.literal('unanswered'), ...callFacts }),
]);
/** A call of a cell in a batch; see {@link batchedCallSchema}. */
export type BatchedCall = z.infer<typeof batchedCallSchema>;
/** A call that is about to enter a batch. */
export type NewBatchedCall = Omit<
  Extract<BatchedCall, { readonly state: 'waiting' }>,
  'state' | 'batchId'
>;
/** A call whose result is not there yet. */
export type WaitingCall = Extract<BatchedCall, { readonly state: 'waiting' }>;
