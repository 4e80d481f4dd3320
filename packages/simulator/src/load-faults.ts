import * as z from 'zod';
import { batchingSchema } from './batches/load-batching.ts';
import { rateLimitSchema } from './load-rate-limit.ts';
import { readJsonFile } from './read-input-file.ts';

const secondsSchema = z.number().min(0);
const countSchema = z.int().min(1);

/** When a fault applies. All given conditions must hold; without conditions it always applies. */
const conditions = {
  /** Share of requests, 0..1, drawn per question and repetition, independent of request order. */
  rate: z.number().min(0).max(1).optional(),
  /** The maximum number of injections. */
  count: countSchema.optional(),
  /** The range of request numbers, 1-based and inclusive; without the second bound, no end. */
  requests: rangeSchema(countSchema).optional(),
  /** Requests for exactly this model. */
  model: z.string().min(1).optional(),
  /** The maximum number of injections per question. */
  maxPerQuestion: countSchema.optional(),
  /** Holds once `requests` were answered normally in the current window of `seconds`. */
  window: z.strictObject({ requests: z.int().min(0), seconds: z.number().positive() }).optional(),
} as const;

/** A range of seconds since the first request, end exclusive; without the second bound, no end. */
const activeSecondsSchema = rangeSchema(secondsSchema).optional();

const usualConditions = { ...conditions, seconds: activeSecondsSchema } as const;
/** For faults whose `seconds` is their duration, the condition is named `betweenSeconds`. */
const lastingConditions = { ...conditions, betweenSeconds: activeSecondsSchema } as const;

const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('rate-limit'),
    ...usualConditions,
    /** Sent as `Retry-After`. Absent: no header. */
    retryAfterSeconds: secondsSchema.optional(),
  }),
  z.strictObject({
    kind: z.literal('quota'),
    ...usualConditions,
    /** The refusal of OpenAI (429), of DeepSeek (402) or of Anthropic (400). @default 429 */
    status: z.union([z.literal(429), z.literal(402), z.literal(400)]).optional(),
    /** Sent as `x-ratelimit-reset-requests`. Absent: the rest of the window, or no header without one. */
    resetSeconds: secondsSchema.optional(),
  }),
  z.strictObject({ kind: z.literal('unauthorized'), ...usualConditions }),
  z.strictObject({
    kind: z.literal('server-error'),
    ...usualConditions,
    /** @default 500 */
    status: z.int().min(500).max(599).optional(),
  }),
  z.strictObject({ kind: z.literal('overloaded'), ...usualConditions }),
  z.strictObject({
    kind: z.literal('reset'),
    ...usualConditions,
    /** Bytes of a normal 200 body to send first, at most all but the last. @default 0, without headers */
    afterBytes: z.int().min(0).optional(),
  }),
  z.strictObject({
    kind: z.literal('hang'),
    ...lastingConditions,
    /** When the server destroys the socket. Absent: never; the client has to time out. */
    seconds: secondsSchema.optional(),
  }),
  z.strictObject({
    kind: z.literal('drip'),
    ...lastingConditions,
    /** The real answer arrives in small pieces over this time. */
    seconds: secondsSchema,
  }),
  z.strictObject({ kind: z.literal('truncated-json'), ...usualConditions }),
  z.strictObject({ kind: z.literal('empty-content'), ...usualConditions }),
  z.strictObject({
    kind: z.literal('usage-limit'),
    ...usualConditions,
    /** Seconds until the reset time named in the text. Absent: the rest of the window, or 60. */
    resetSeconds: secondsSchema.optional(),
  }),
  z.strictObject({
    kind: z.literal('wrong-model'),
    ...usualConditions,
    /** The `model` field of the response. */
    servedModel: z.string(),
  }),
  /** The real answer with its tokens, and the finish reason `content_filter`. */
  z.strictObject({ kind: z.literal('content-filter'), ...usualConditions }),
  /** The tokens of the real answer in a body that has no choices. */
  z.strictObject({ kind: z.literal('no-choices'), ...usualConditions }),
  z.strictObject({
    kind: z.literal('error-object'),
    ...usualConditions,
    /** The fault whose error object is sent, with status 200. @default 'server-error' */
    error: z.enum(['rate-limit', 'quota', 'unauthorized', 'server-error', 'overloaded']).optional(),
  }),
]);
/** A fault and the conditions under which it is injected. */
export type Fault = z.infer<typeof faultSchema>;
/** The name of a fault in files, counts and logs. */
export type FaultKind = Fault['kind'];
/** The faults of one or several kinds. */
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;

const faultsSchema = z.strictObject({
  seed: z.int(),
  faults: z.array(faultSchema),
  /** What it refuses is not looked at by the faults. */
  rateLimit: rateLimitSchema.optional(),
  /** The requests of batches have faults of their own. */
  batches: batchingSchema.optional(),
});
/** Faults in order of precedence: the first one that matches a request is injected. And the provider's rate limit. */
export type Faults = z.infer<typeof faultsSchema>;

/**
 * Loads a fault file.
 *
 * @param path - JSON: `{ seed, faults: [ { kind, <conditions>, <parameters> } ], rateLimit?, batches? }`.
 * @throws {ThriceError} `invalid-file` naming key path, expected and received.
 */
export async function loadFaults(path: string): Promise<Faults> {
  return await readJsonFile(path, faultsSchema);
}

function rangeSchema(bound: z.ZodNumber | z.ZodInt) {
  return z
    .tuple([bound, bound.optional()])
    .refine(([from, to]) => to === undefined || to >= from, 'expected [from, to] with to >= from');
}
