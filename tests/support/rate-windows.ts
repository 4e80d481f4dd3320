import type { RateWindow } from '@thrice/simulator';

/** What a provider saw over several windows. */
export interface Seen {
  readonly utilizationRatio: number;
  /** Of all calls. */
  readonly refusedRatio: number;
}

/** Adds up windows. */
export function sumWindows(windows: readonly RateWindow[]): Seen {
  const sum = (count: (window: RateWindow) => number | null) =>
    windows.reduce((total, window) => total + (count(window) ?? 0), 0);
  const admitted = sum(({ admittedCount }) => admittedCount);
  const refused = sum(({ refusedCount }) => refusedCount);
  const ratioOf = (used: number, allowed: number) => (allowed === 0 ? 0 : used / allowed);
  return {
    utilizationRatio: Math.max(
      ratioOf(
        admitted,
        sum(({ allowedRequests }) => allowedRequests),
      ),
      ratioOf(
        sum(({ admittedTokens }) => admittedTokens),
        sum(({ allowedTokens }) => allowedTokens),
      ),
    ),
    refusedRatio: ratioOf(refused, refused + admitted),
  };
}

/** The share of the first of two groups among the requests that were admitted. */
export function groupShare(windows: readonly RateWindow[]): number {
  const runs = [...new Set(windows.flatMap(({ admittedByRun }) => Object.keys(admittedByRun)))];
  const counts = runs
    .toSorted()
    .map((run) => windows.reduce((sum, { admittedByRun }) => sum + (admittedByRun[run] ?? 0), 0));
  return (counts[0] ?? 0) / counts.reduce((sum, count) => sum + count, 0);
}
