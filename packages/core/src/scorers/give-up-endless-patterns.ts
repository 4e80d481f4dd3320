import * as z from 'zod';
import { limits } from '../limits.ts';
import type { UserCode } from '../ports/user-code.ts';

/** Timeouts in a row, by pattern. */
export const timeoutCountsSchema = z.array(z.tuple([z.string(), z.int()]));
/** Timeouts in a row, by pattern. */
export type TimeoutCounts = z.infer<typeof timeoutCountsSchema>;

/** A matcher that gives up endless patterns. */
export interface GivingUpMatcher extends UserCode {
  /** What to create a matcher from that continues after the last match. */
  readonly timeoutCounts: () => TimeoutCounts;
}

/**
 * Gives a pattern up after `limits.patternTimeouts` timeouts in a row: from then on, each of its matches ends
 * with a timeout at once.
 *
 * Counts for as long as the returned matcher is used. Matches run one after the other, so that those waiting
 * when a pattern is given up do not run either.
 *
 * @param from - The counts of another matcher. @default no timeouts
 */
export function giveUpEndlessPatterns(
  userCode: UserCode,
  from: TimeoutCounts = [],
): GivingUpMatcher {
  const timeoutCounts = new Map(from);
  let last: Promise<unknown> = Promise.resolve();
  const match: UserCode['match'] = async (pattern, text, limitMs) => {
    const name = `${pattern.flags}/${pattern.source}`;
    const timeoutCount = timeoutCounts.get(name) ?? 0;
    if (timeoutCount >= limits.patternTimeouts) return { kind: 'timeout' };
    const found = await userCode.match(pattern, text, limitMs);
    timeoutCounts.set(name, found.kind === 'timeout' ? timeoutCount + 1 : 0);
    return found;
  };
  return {
    match: (...request) => {
      const found = last.then(() => match(...request));
      last = found.catch(() => undefined);
      return found;
    },
    timeoutCounts: () => [...timeoutCounts],
  };
}
