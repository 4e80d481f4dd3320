import * as z from 'zod';

const perMinuteSchema = z.number().positive();

/** What a limit bounds; absent: unlimited. */
const bounds = {
  requestsPerMinute: perMinuteSchema.optional(),
  /** Input and output tokens, as the responses report them. */
  tokensPerMinute: perMinuteSchema.optional(),
  /** The maximum number of admitted requests that are open at the same time. */
  maxConcurrency: z.int().min(1).optional(),
} as const;

const boundNames = ['requestsPerMinute', 'tokensPerMinute', 'maxConcurrency'] as const;

const changeSchema = z
  .strictObject({
    /** Since the first request. */
    afterSeconds: z.number().min(0).optional(),
    /** Counted with the refused ones. */
    afterRequests: z.int().min(1).optional(),
    ...bounds,
  })
  .refine(
    ({ afterSeconds, afterRequests }) => (afterSeconds ?? afterRequests) !== undefined,
    'expected afterSeconds or afterRequests',
  );

/** The rate limit of the simulated provider, which its clients are not told unless `headers` says so. */
export const rateLimitSchema = z
  .strictObject({
    ...bounds,
    /**
     * How much may be used at once after a pause: what the limit allows in so many seconds.
     *
     * @default 60, as at OpenAI and Anthropic
     */
    burstSeconds: z.number().positive().optional(),
    /** Whose rate-limit headers the responses have. Absent: none. */
    headers: z.enum(['openai', 'anthropic']).optional(),
    /** Whether a refusal says how long to wait, with `Retry-After` or `retry-after-ms`. Absent: it does not. */
    retryAfter: z.enum(['seconds', 'milliseconds']).optional(),
    /** The one change of the limit, whichever of its times comes first; what it does not name stays as it was. */
    change: changeSchema.optional(),
  })
  .refine(
    ({ change = {}, ...limit }) =>
      boundNames.every((name) => !(name in change) || limit[name] !== undefined),
    { path: ['change'], error: 'expected only limits that the rate limit has' },
  );
/** A rate limit; see {@link rateLimitSchema}. */
export type RateLimit = z.infer<typeof rateLimitSchema>;
