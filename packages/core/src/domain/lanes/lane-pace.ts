import * as z from 'zod';
import type { Lane } from '../benchmark.ts';
import { rateBeliefSchema } from './rate-belief.ts';
import { NO_EVIDENCE, refusalEvidenceSchema } from './refusal-evidence.ts';

/** Groups that can share a lane's rate; one that finds no place takes the turns of the first. */
const MAX_GROUPS = 16;
/**
 * A worker reads the pace of a lane at most so often, ms. Until then it may not know that the pace has fallen: a lane is
 * first held for so long, and a pace falls again only for calls that were sent so long after the last fall.
 */
export const PACE_AGE_MS = 2_000;

/** Limits a minute; null where there is none. */
const rateLimitsSchema = z.strictObject({
  requestsPerMinute: z.number().positive().nullable(),
  tokensPerMinute: z.number().positive().nullable(),
});
/** Limits a minute; see {@link lanePaceSchema}. */
export type RateLimits = z.infer<typeof rateLimitsSchema>;

const groupTurnsSchema = z.strictObject({
  group: z.string(),
  /** Those of its spec, which bind all groups of the lane. */
  limits: rateLimitsSchema,
  /** How much of the lane's rate is its own, 0..1. */
  shareRatio: z.number().positive().max(1),
  /** Since 1970. */
  baseAtMs: z.number(),
  /** The turn that is due at `baseAtMs`. */
  baseTurn: z.int(),
  /** The tokens of the turns before it. */
  baseTokens: z.number(),
  /** The last turn that was taken before the rate was shared out, and the tokens until then. */
  sharedTurn: z.int(),
  sharedTokens: z.number(),
  /** The last turn that was taken before the pace was read, and not given up since; 0 if none was. */
  lastTurn: z.int(),
  /** The tokens of all turns up to that one. */
  lastTokens: z.number(),
});
/** The turns of a group; see {@link lanePaceSchema}. */
export type GroupTurns = z.infer<typeof groupTurnsSchema>;

/**
 * The pace of a rate-limited lane, shared by all workers of a stage.
 *
 * The callers of each group take turns, which are numbered, with tokens, which are counted. A turn is due when the share of
 * its group in the rate of the lane allows it. The rate rises by itself, so that an answer changes nothing; a
 * change of the pace moves all turns that are not due yet, whoever has taken them.
 */
export const lanePaceSchema = z.strictObject({
  schemaVersion: z.literal(1),
  lane: z.string(),
  /** What its refusals have shown; null if there was none. */
  requests: rateBeliefSchema.nullable(),
  /** The same of tokens. */
  tokens: rateBeliefSchema.nullable(),
  /** Whether its refusals show a limit. */
  evidence: refusalEvidenceSchema,
  /** The calls of the lane and those of them that were refused, as far as they are counted; and those that were weighed. */
  callCount: z.number().min(0),
  refusalCount: z.number().min(0),
  weighedCalls: z.number().min(0),
  weighedRefusals: z.number().min(0),
  /** Since when the calls of the present window are counted, since 1970, and how many had been before. */
  windowAtMs: z.number(),
  windowCalls: z.number().min(0),
  /** The rate of the calls in the window before, a minute; null if it is not known. */
  usedPerMinute: z.number().nullable(),
  /** What the vendor states. */
  stated: rateLimitsSchema,
  /** By the place of their turns; null where a group has left. */
  groups: z.array(groupTurnsSchema.nullable()),
  /** When the rate was last shared out, since 1970. */
  sharedAtMs: z.number(),
  /** No turn is due before, since 1970. */
  heldUntilMs: z.number(),
  /** When the pace last fell, since 1970. */
  refusedAtMs: z.number(),
  /** When the lane refused the first call since its last answer, since 1970; null if it has answered one since. */
  refusedSinceMs: z.number().nullable(),
  /** When the lane first answered a call after its last refusal, since 1970; null if it never has. */
  answeredAtMs: z.number().nullable(),
  /** Changes with each change of the pace. */
  token: z.string(),
});
/** The pace of a lane; see {@link lanePaceSchema}. */
export type LanePace = z.infer<typeof lanePaceSchema>;

/** A time and the token of a change to a pace. */
export interface Change {
  readonly nowMs: number;
  readonly token: string;
}

/** No limits. */
export const UNLIMITED: RateLimits = { requestsPerMinute: null, tokensPerMinute: null };

/** The limits of a lane in a spec. */
export function rateLimitsOf({
  requestsPerMinute,
  tokensPerMinute,
}: Pick<Lane, 'requestsPerMinute' | 'tokensPerMinute'>): RateLimits {
  return {
    requestsPerMinute: requestsPerMinute ?? null,
    tokensPerMinute: tokensPerMinute ?? null,
  };
}

/** The pace of a lane that has not refused a call yet. */
export function freePace(lane: string, token: string): LanePace {
  return {
    schemaVersion: 1,
    lane,
    requests: null,
    tokens: null,
    evidence: NO_EVIDENCE,
    callCount: 0,
    refusalCount: 0,
    weighedCalls: 0,
    weighedRefusals: 0,
    windowAtMs: 0,
    windowCalls: 0,
    usedPerMinute: null,
    stated: UNLIMITED,
    groups: [],
    sharedAtMs: 0,
    heldUntilMs: 0,
    refusedAtMs: 0,
    refusedSinceMs: null,
    answeredAtMs: null,
    token,
  };
}

/** The groups that call a lane. */
export function groupsOf({ groups }: LanePace): readonly GroupTurns[] {
  return groups.filter((each) => each !== null);
}

/** The place of a group's turns; undefined if it has none and there is one left. */
export function placeOf(pace: LanePace, group: string): number | undefined {
  const place = pace.groups.findIndex((each) => each?.group === group);
  if (place !== -1) return place;
  return groupsOf(pace).length >= MAX_GROUPS ? 0 : undefined;
}
