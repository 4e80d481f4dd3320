import * as z from 'zod';
import { readJsonFile } from './read-input-file.ts';

const secondsSchema = z.number().min(0);
const countSchema = z.int().min(1);

/** When a fault applies: all conditions given must hold; none given means always. */
const conditions = {
  /** Share of requests, 0..1, drawn per question and repetition, whatever the order. */
  rate: z.number().min(0).max(1).optional(),
  /** At most so many injections. */
  count: countSchema.optional(),
  /** Request numbers of this server, 1-based, inclusive; without the second: for ever. */
  requests: rangeSchema(countSchema).optional(),
  /** Requests for exactly this model. */
  model: z.string().min(1).optional(),
  /** At most so many injections for the same question. */
  maxPerQuestion: countSchema.optional(),
  /** Holds once `requests` were let through in the current window of `seconds`. */
  window: z.strictObject({ requests: z.int().min(0), seconds: z.number().positive() }).optional(),
} as const;

/** Seconds since the first request, the second bound exclusive; without it: for ever. */
const activeSecondsSchema = rangeSchema(secondsSchema).optional();

const usualConditions = { ...conditions, seconds: activeSecondsSchema } as const;
/** Where `seconds` is how long the fault takes, the condition has a longer name. */
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
    /** Sent as `x-ratelimit-reset-requests`. Absent: the rest of the window, else no header. */
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
    /** Bytes of a normal 200 body sent first, at most all but one. @default 0: not even headers */
    afterBytes: z.int().min(0).optional(),
  }),
  z.strictObject({
    kind: z.literal('hang'),
    ...lastingConditions,
    /** Then the socket is destroyed. Absent: when the client gives up. */
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
    /** Until the epoch second the text names. Absent: the rest of the window, else 60. */
    resetSeconds: secondsSchema.optional(),
  }),
  z.strictObject({
    kind: z.literal('wrong-model'),
    ...usualConditions,
    /** The `model` of the answer. */
    servedModel: z.string(),
  }),
]);
/** Something that goes wrong, and when. */
export type Fault = z.infer<typeof faultSchema>;
/** The word a fault is written, counted and logged by. */
export type FaultKind = Fault['kind'];
/** One kind of fault, or several. */
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;

const faultsSchema = z.strictObject({ seed: z.int(), faults: z.array(faultSchema) });
/** Faults in order of precedence: the first that matches a request is injected. */
export type Faults = z.infer<typeof faultsSchema>;

/**
 * Loads a fault file.
 *
 * @param path - JSON: `{ seed, faults: [ { kind, <conditions>, <parameters> } ] }`.
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
