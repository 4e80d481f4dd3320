import * as z from 'zod';
import { type RateBelief, reachesAtMs } from './rate-belief.ts';

/**
 * The share of its calls that a lane may refuse by chance before calls at rates that it has taken tell: while it is free and
 * its use is not known, while its limit is searched, and from then on.
 */
export const UNUSED_CHANCE_RATIO = 0.05;
const SEARCHED_CHANCE_RATIO = 0.012;
const FOUND_CHANCE_RATIO = 0.005;
/**
 * The most that is believed to be chance. A limit that has fallen by little, or refuses one worker that then waits, looks the
 * same: beyond this it pays to slow down, whatever the reason is.
 */
const MAX_CHANCE_RATIO = 0.03;
/** Chance explains so many times as many refusals as there are on average. */
const EXPLAINED_FACTOR = 2.5;
/** Refusals beyond these that show a limit, by the share that is chance; at least one. */
const EXCESS_PER_CHANCE = 140;
/** How many calls at a rate that the lane had taken before tell its chance, and how many are remembered. */
const LEAST_SAFE_CALLS = 200;
const MAX_SAFE_CALLS = 500;
/** How much of them still counts once refusals at such a rate show that the limit has fallen. */
const UNSURE_RATIO = 0.8;
/** Refusals with fewer calls between them are no chance: the limit has fallen below the rate. */
const APART_CALLS = 10;
/** From how many calls on refusals tell which share of them is refused, and the most that is believed. */
const LEAST_CALLS = 12;
const LEAST_EXCESS_CALLS = 20;
const MAX_REFUSED_RATIO = 0.5;

/**
 * What the refusals of a lane show: a limit, or chance.
 *
 * Vendors refuse some calls by chance, because one of many servers is busy. A lane that slowed down for each of them would
 * stand almost still at a chance of 2 %, and slowing down would not help. A limit refuses no call at a rate that the lane
 * has taken: so the refusals below that tell how many are chance.
 */
export const refusalEvidenceSchema = z.strictObject({
  /** Refusals beyond those that chance explains: each adds one, each call takes away a part of one, also in advance. */
  excess: z.number(),
  /** When the last refusal was weighed, ms since 1970, and the calls since. */
  weighedAtMs: z.number(),
  calls: z.number().min(0),
  /** The calls since the first refusal that is in excess, and those of them that were refused. */
  excessCalls: z.number().min(0),
  excessRefused: z.number().min(0),
  /** Calls at rates that the lane had taken, and those of them that were refused nevertheless; of late. */
  safeCalls: z.number().min(0),
  safeRefused: z.number().min(0),
});
/** What the refusals of a lane show; see {@link refusalEvidenceSchema}. */
export type RefusalEvidence = z.infer<typeof refusalEvidenceSchema>;

/** The evidence of a lane that has refused nothing. */
export const NO_EVIDENCE: RefusalEvidence = {
  excess: 0,
  weighedAtMs: 0,
  calls: 0,
  excessCalls: 0,
  excessRefused: 0,
  safeCalls: 0,
  safeRefused: 0,
};

/** A refused call. */
export interface WeighedRefusal {
  readonly nowMs: number;
  readonly sentAtMs: number;
  /** What is believed of the limits that may have refused it; none as long as the lane is free. */
  readonly beliefs: readonly RateBelief[];
  /** The share of its calls that the lane may refuse by chance while it is free, 0..1. */
  readonly freeChanceRatio: number;
}

/** The share of its calls that a lane refuses whatever the rate is, as far as that is known. */
export function chanceRatio({ safeCalls, safeRefused }: RefusalEvidence): number {
  const unknownCalls = Math.max(0, LEAST_SAFE_CALLS - safeCalls);
  const refused = safeRefused + FOUND_CHANCE_RATIO * unknownCalls;
  return Math.min(MAX_CHANCE_RATIO, refused / (safeCalls + unknownCalls));
}

/** What a refusal shows with those before it. */
export interface Weighed {
  /** The share of the last calls that were refused, 0..1, if that shows that the lane is too fast; otherwise undefined. */
  readonly refusedRatio: number | undefined;
  /** Whether the limit has fallen below a rate that the lane took. */
  readonly hasFallen: boolean;
}

/** Weighs a refusal. */
export function weighRefusal(
  evidence: RefusalEvidence,
  refusal: WeighedRefusal,
): Weighed & { readonly evidence: RefusalEvidence } {
  const { calls } = evidence;
  const isFree = refusal.beliefs.length === 0;
  const isSearched = refusal.beliefs.some(({ phase }) => phase === 'searching');
  const least = isFree ? refusal.freeChanceRatio : isSearched ? SEARCHED_CHANCE_RATIO : 0;
  const chance = Math.max(chanceRatio(evidence), least);
  const most = 1 + EXCESS_PER_CHANCE * chance;
  const left = Math.max(1 - most, evidence.excess - EXPLAINED_FACTOR * chance * calls);
  const excess = left + 1;
  const weighed = {
    ...(isFree ? evidence : withSafeCalls(evidence, refusal)),
    excess,
    excessCalls: left > 0 ? evidence.excessCalls + calls : 0,
    excessRefused: left > 0 ? evidence.excessRefused + 1 : 0,
    weighedAtMs: refusal.nowMs,
    calls: 0,
  };
  if (excess < most) return { evidence: weighed, refusedRatio: undefined, hasFallen: false };
  const { excessCalls, excessRefused } = weighed;
  const ratio =
    excessRefused > 0
      ? excessRefused / Math.max(LEAST_EXCESS_CALLS, excessCalls)
      : 1 / Math.max(LEAST_CALLS, calls);
  const hasFallen = evidence.safeCalls >= LEAST_SAFE_CALLS && isSafe(refusal);
  const shown = hasFallen ? { ...weighed, ...withLessSafe(evidence) } : weighed;
  return {
    evidence: { ...shown, excess: 0 },
    refusedRatio: Math.min(MAX_REFUSED_RATIO, ratio),
    hasFallen,
  };
}

/** Trusts the calls at rates that were taken less, without the refusals that have shown otherwise. */
function withLessSafe({
  safeCalls,
  safeRefused,
  excessRefused,
}: RefusalEvidence): Pick<RefusalEvidence, 'safeCalls' | 'safeRefused'> {
  const refused = Math.max(0, safeRefused - excessRefused);
  return { safeCalls: UNSURE_RATIO * safeCalls, safeRefused: UNSURE_RATIO * refused };
}

/** Whether a call was made at a rate that the lane had taken. */
function isSafe({ sentAtMs, beliefs }: WeighedRefusal): boolean {
  return beliefs.length > 0 && sentAtMs < safeUntil(beliefs);
}

function safeUntil(beliefs: readonly RateBelief[]): number {
  return Math.min(...beliefs.map((each) => reachesAtMs(each, each.takenPerMinute)));
}

/** Counts the calls that were made before the rate had risen beyond what the lane had taken. */
function withSafeCalls(evidence: RefusalEvidence, refusal: WeighedRefusal): RefusalEvidence {
  const { nowMs, beliefs } = refusal;
  const fromMs = Math.max(evidence.weighedAtMs, ...beliefs.map(({ fellAtMs }) => fellAtMs));
  const wasSafe = isSafe(refusal);
  const safeRatio = wasSafe
    ? 1
    : Math.max(0, safeUntil(beliefs) - fromMs) / Math.max(1, nowMs - fromMs);
  const isChance = wasSafe && evidence.calls >= APART_CALLS;
  const safeCalls = evidence.safeCalls + evidence.calls * Math.min(1, safeRatio);
  const safeRefused = evidence.safeRefused + (isChance ? 1 : 0);
  const kept = Math.min(1, MAX_SAFE_CALLS / Math.max(1, safeCalls));
  return { ...evidence, safeCalls: kept * safeCalls, safeRefused: kept * safeRefused };
}
