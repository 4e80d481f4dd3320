import * as z from 'zod';
import { rateBeliefSchema } from './rate-belief.ts';
import { NO_EVIDENCE, refusalEvidenceSchema } from './refusal-evidence.ts';

/** A process that was not heard of for so long, ms, no longer counts: it was killed. */
export const HOLDER_AGE_MS = 5_000;

const statedSchema = z.strictObject({ perMinute: z.number().positive(), atMs: z.number() });

/** One rate of a lane: requests or tokens a minute. */
const laneRateSchema = z.strictObject({
  /** What the vendor states in its headers. */
  stated: statedSchema.nullable(),
  /** What refusals have shown. */
  found: rateBeliefSchema.nullable(),
  /** All of the rate before this time is leased, ms since 1970. */
  nextAtMs: z.number(),
  /** The time that was leased to each group beyond what was leased to the one with the least, ms; of those that wait. */
  served: z.record(z.string(), z.number()),
  /** Used in the current window and in the one before. */
  used: z.number(),
  usedBefore: z.number(),
});
/** One rate of a lane; see {@link laneLimitSchema}. */
export type LaneRate = z.infer<typeof laneRateSchema>;

/** A process that uses a lane. */
const holderSchema = z.strictObject({
  group: z.string(),
  seenAtMs: z.number(),
  /** Calls in flight. */
  inUse: z.int(),
  /** Callers that wait for a permit. */
  waiting: z.int(),
  /** Calls in flight at most, of those that all may have; null without a limit. */
  slots: z.int().nullable(),
  /** What the spec of its group says. */
  requestsPerMinute: z.number().nullable(),
  tokensPerMinute: z.number().nullable(),
  maxConcurrency: z.int().nullable(),
});
/** A process that uses a lane; see {@link laneLimitSchema}. */
export type Holder = z.infer<typeof holderSchema>;

/**
 * The limits of a lane's account, which all processes that share a ledger hold together.
 *
 * Processes lease the rate in blocks: a block is a time in which one process alone may use a rate, and no two blocks of a rate
 * cover the same time. How much it may use in it follows from the rate that is believed by then, so that a change of
 * the rate needs no new leases. The block of a process that dies passes by itself. Between two leases a process needs no
 * write.
 */
export const laneLimitSchema = z.strictObject({
  schemaVersion: z.literal(1),
  requests: laneRateSchema,
  tokens: laneRateSchema,
  /** Whether its refusals show a limit. */
  evidence: refusalEvidenceSchema,
  /** No call before this time, ms since 1970, and what the vendor said. */
  heldUntilMs: z.number(),
  reason: z.string().nullable(),
  /** When the current window began. */
  windowAtMs: z.number(),
  /** When a process last reported, ms since 1970. */
  exchangedAtMs: z.number(),
  /** By owner. */
  holders: z.record(z.string(), holderSchema),
});
/** The limits of a lane's account; see {@link laneLimitSchema}. */
export type LaneLimit = z.infer<typeof laneLimitSchema>;

/** The limits of a lane of which nothing is known. */
export function unknownLimit(nowMs: number): LaneLimit {
  const rate: LaneRate = {
    stated: null,
    found: null,
    nextAtMs: 0,
    served: {},
    used: 0,
    usedBefore: 0,
  };
  return {
    schemaVersion: 1,
    requests: rate,
    tokens: rate,
    evidence: NO_EVIDENCE,
    heldUntilMs: 0,
    reason: null,
    windowAtMs: nowMs,
    exchangedAtMs: nowMs,
    holders: {},
  };
}

/** Forgets a process that has ended; undefined if nothing is left to remember. */
export function withoutHolder(limit: LaneLimit, owner: string): LaneLimit | undefined {
  const { [owner]: _, ...holders } = limit.holders;
  const { requests, tokens } = limit;
  const facts = [requests.found, requests.stated, tokens.found, tokens.stated];
  const isKnown = facts.some((fact) => fact !== null) || Object.keys(holders).length > 0;
  // What it has used counts for the next one, which may start at once.
  const isLeasedAhead = Math.max(requests.nextAtMs, tokens.nextAtMs) > limit.exchangedAtMs;
  return isKnown || isLeasedAhead ? { ...limit, holders } : undefined;
}

/** The processes that were heard of lately. */
export function activeHolders({ holders }: LaneLimit, nowMs: number): readonly Holder[] {
  // Seen later than now: the clock was set back.
  return Object.values(holders).filter(
    ({ seenAtMs }) => Math.abs(nowMs - seenAtMs) < HOLDER_AGE_MS,
  );
}
