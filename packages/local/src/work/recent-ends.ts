/** How many of the last calls show a burst that was refused, and how many of them were. */
const BURST = { calls: 10, refused: 5 };
/** The same of a rate that is a little too high. */
const EXCESS = { calls: 200, refused: 13 };

/**
 * How the last calls of a lane ended, as long as no rate limit of it is known.
 *
 * Vendors refuse some calls by chance, because one of many servers is busy. A lane that slowed down for each of them would
 * stand almost still at a chance of 2 %, and slowing down would not help.
 */
export class RecentEnds {
  #ends: boolean[] = [];

  /** Notes how a call ended. Returns whether so many calls have been refused of late that there must be a limit. */
  note(isRefused: boolean): boolean {
    this.#ends = [...this.#ends.slice(1 - EXCESS.calls), isRefused];
    return isRefused && [BURST, EXCESS].some((least) => this.#hasRefused(least));
  }

  #hasRefused({ calls, refused }: typeof BURST): boolean {
    return this.#ends.slice(-calls).filter(Boolean).length >= refused;
  }
}
