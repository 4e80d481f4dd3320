/** A sum of amounts that may be unknown. It is unknown as soon as one amount is, and of no amounts at all. */
export class KnownSum {
  #sum = 0;
  #count = 0;
  #hasUnknown = false;

  add(amount: number | null): void {
    this.#count += 1;
    if (amount === null) this.#hasUnknown = true;
    else this.#sum += amount;
  }

  /** Null if it is unknown. */
  value(): number | null {
    return this.#hasUnknown || this.#count === 0 ? null : this.#sum;
  }
}

/** Adds amounts; null if there are none, or one of them is unknown. */
export function sumKnown(amounts: Iterable<number | null>): number | null {
  const sum = new KnownSum();
  for (const amount of amounts) sum.add(amount);
  return sum.value();
}
