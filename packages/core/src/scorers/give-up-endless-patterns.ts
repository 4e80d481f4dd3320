import { limits } from '../limits.ts';
import type { PatternMatcher } from '../ports/pattern-matcher.ts';

/**
 * Gives a pattern up after `limits.patternTimeouts` timeouts in a row: from then on, each of its matches ends
 * with a timeout at once.
 *
 * Counts for as long as the returned matcher is used. Matches run one after the other, so that those waiting
 * when a pattern is given up do not run either.
 */
export function giveUpEndlessPatterns(patterns: PatternMatcher): PatternMatcher {
  /** Timeouts in a row, by pattern. */
  const timeoutCounts = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();
  const match: PatternMatcher['match'] = async (pattern, text, limitMs) => {
    const name = `${pattern.flags}/${pattern.source}`;
    const timeoutCount = timeoutCounts.get(name) ?? 0;
    if (timeoutCount >= limits.patternTimeouts) return { kind: 'timeout' };
    const found = await patterns.match(pattern, text, limitMs);
    timeoutCounts.set(name, found.kind === 'timeout' ? timeoutCount + 1 : 0);
    return found;
  };
  return {
    match: (...order) => {
      const found = last.then(() => match(...order));
      last = found.catch(() => undefined);
      return found;
    },
  };
}
