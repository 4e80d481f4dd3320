/**
 * Events of a simulation in the order of their times: a binary heap.
 *
 * Event kinds are small integers. Events of one instant come in an order that depends only on what was
 * pushed and when, so a run repeats exactly.
 */
export class EventQueue {
  #times = new Float64Array(1_024);
  #kinds = new Uint8Array(1_024);
  /** Places in use, the top's among them also when it was taken. */
  #size = 0;
  /** The top was handed out and its place waits: most events bring about another one at once. */
  #isTopTaken = false;
  #nowSeconds = 0;

  /** When the event popped last happened, s. */
  get nowSeconds(): number {
    return this.#nowSeconds;
  }

  /** Events that are still to come. */
  get size(): number {
    return this.#isTopTaken ? this.#size - 1 : this.#size;
  }

  /**
   * @param atSeconds - Not before {@link nowSeconds}.
   * @param kind - Integer, 0..255.
   */
  push(atSeconds: number, kind: number): void {
    if (this.#isTopTaken) {
      this.#isTopTaken = false;
      this.#sink(atSeconds, kind);
      return;
    }
    if (this.#size === this.#times.length) this.#grow();
    const times = this.#times;
    let hole = this.#size;
    this.#size += 1;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const parentTime = times[parent] ?? 0;
      if (parentTime <= atSeconds) break;
      this.#set(hole, parentTime, this.#kinds[parent] ?? 0);
      hole = parent;
    }
    this.#set(hole, atSeconds, kind);
  }

  /** Takes the earliest event off and moves the clock to it; undefined when there is none. */
  pop(): number | undefined {
    if (this.#isTopTaken) {
      this.#isTopTaken = false;
      this.#size -= 1;
      if (this.#size > 0) {
        this.#sink(this.#times[this.#size] ?? 0, this.#kinds[this.#size] ?? 0);
      }
    }
    if (this.#size === 0) return undefined;
    this.#isTopTaken = true;
    this.#nowSeconds = this.#times[0] ?? 0;
    return this.#kinds[0];
  }

  /** Puts an event where the top was and lets it sink to its place. */
  #sink(atSeconds: number, kind: number): void {
    const times = this.#times;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= this.#size) break;
      const right = child + 1;
      if (right < this.#size && (times[right] ?? 0) < (times[child] ?? 0)) child = right;
      const childTime = times[child] ?? 0;
      if (childTime >= atSeconds) break;
      this.#set(hole, childTime, this.#kinds[child] ?? 0);
      hole = child;
    }
    this.#set(hole, atSeconds, kind);
  }

  #set(index: number, atSeconds: number, kind: number): void {
    this.#times[index] = atSeconds;
    this.#kinds[index] = kind;
  }

  #grow(): void {
    const times = new Float64Array(2 * this.#times.length);
    times.set(this.#times);
    this.#times = times;
    const kinds = new Uint8Array(2 * this.#kinds.length);
    kinds.set(this.#kinds);
    this.#kinds = kinds;
  }
}
