/** Calls that are looked back on, besides two for each that is in flight: refusals come back sooner than answers. */
const LEAST_CALLS = 20;
/** How many of these must have been refused, and which share. */
const LEAST_REFUSED = 8;
const REFUSED_SHARE = 0.12;
const LONGEST = 4_096;
/** How much of the most calls in flight is remembered after each call: refusals of a wave come back when it is over. */
const MEMORY_RATIO = 0.995;

/**
 * How the last calls of a lane ended, to tell a limit from chance.
 *
 * Vendors refuse some calls by chance, because one of many servers is busy. A lane that slowed down for each of them would
 * stand almost still at a chance of 2 %, and slowing down would not help.
 */
export class RecentEnds {
  #ends: boolean[] = [];
  #mostInFlight = 0;

  /** Notes how a call ended. Returns whether so many have been refused that there must be a limit. */
  note(isRefused: boolean, inFlight: number): boolean {
    this.#mostInFlight = Math.max(inFlight, this.#mostInFlight * MEMORY_RATIO);
    this.#ends.push(isRefused);
    if (this.#ends.length > 2 * LONGEST) this.#ends = this.#ends.slice(-LONGEST);
    if (!isRefused) return false;
    const calls = Math.min(LONGEST, Math.round(LEAST_CALLS + 2 * this.#mostInFlight));
    const refused = this.#ends.slice(-calls).filter(Boolean).length;
    return refused >= Math.max(LEAST_REFUSED, REFUSED_SHARE * calls);
  }
}
