/**
 * Events ordered by time: a binary heap.
 *
 * Event kinds are small integers. The order of events at the same instant depends only on the pushes
 * before them, so a run repeats exactly.
 */
export class EventQueue {
  #times = new Float64Array(1_024);
  #kinds = new Uint8Array(1_024);
  /** Slots in use, including the top's after it was popped. */
  #size = 0;
  /** The top was popped and its slot is free for the next push: most events cause another one at once. */
  #isTopPopped = false;
  #nowSeconds = 0;

  /** Time of the last popped event, s. */
  get nowSeconds(): number {
    return this.#nowSeconds;
  }

  /** Number of pending events. */
  get size(): number {
    return this.#isTopPopped ? this.#size - 1 : this.#size;
  }

  /**
   * @param atSeconds - Not before {@link nowSeconds}.
   * @param kind - Integer, 0..255.
   */
  push(atSeconds: number, kind: number): void {
    if (this.#isTopPopped) {
      this.#isTopPopped = false;
      this.#siftDown(atSeconds, kind);
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

  /** Removes the earliest event and advances the clock to it. Returns undefined when there is none. */
  pop(): number | undefined {
    if (this.#isTopPopped) {
      this.#isTopPopped = false;
      this.#size -= 1;
      if (this.#size > 0) {
        this.#siftDown(this.#times[this.#size] ?? 0, this.#kinds[this.#size] ?? 0);
      }
    }
    if (this.#size === 0) return undefined;
    this.#isTopPopped = true;
    this.#nowSeconds = this.#times[0] ?? 0;
    return this.#kinds[0];
  }

  /** Puts an event at the top and sifts it down. */
  #siftDown(atSeconds: number, kind: number): void {
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
