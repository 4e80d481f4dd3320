interface Batch {
  readonly sentAtSeconds: number;
  readonly isRepeated: boolean;
  left: number;
}

/** Batches that were used up are dropped from the front when there are so many. */
const COMPACT_AT = 4_096;

/**
 * The visible messages of a queue, oldest first; those sent together are one batch.
 *
 * SQS promises no order; it keeps a message for the retention time and then forgets it, without a word
 * and past the DLQ message queue.
 */
export class MessageBacklog {
  readonly #retentionSeconds: number;
  #batches: Batch[] = [];
  #head = 0;
  #expiredCount = 0;
  #expiredAtSeconds = 0;
  #takenAgeSeconds = 0;
  #isTakenAgain = false;

  constructor(retentionSeconds: number) {
    this.#retentionSeconds = retentionSeconds;
  }

  get isEmpty(): boolean {
    return this.#head === this.#batches.length;
  }

  /** Messages that were never taken. */
  get expiredCount(): number {
    return this.#expiredCount;
  }

  /** When the first of them was lost, s; 0 while there is none. */
  get expiredAtSeconds(): number {
    return this.#expiredAtSeconds;
  }

  /** How long the message taken last had waited, s. */
  get takenAgeSeconds(): number {
    return this.#takenAgeSeconds;
  }

  /** Whether somebody had handed that message's cell back. */
  get isTakenAgain(): boolean {
    return this.#isTakenAgain;
  }

  /** @param atSeconds - Not before any earlier message. */
  push(atSeconds: number, count: number, isRepeated: boolean): void {
    this.#batches.push({ sentAtSeconds: atSeconds, left: count, isRepeated });
  }

  /** Takes the oldest message that has not expired; false when there is none. */
  take(nowSeconds: number): boolean {
    for (;;) {
      const batch = this.#batches[this.#head];
      if (batch === undefined) return false;
      const ageSeconds = nowSeconds - batch.sentAtSeconds;
      if (ageSeconds < this.#retentionSeconds) {
        batch.left -= 1;
        if (batch.left === 0) this.#dropHead();
        this.#takenAgeSeconds = ageSeconds;
        this.#isTakenAgain = batch.isRepeated;
        return true;
      }
      if (this.#expiredCount === 0) {
        this.#expiredAtSeconds = batch.sentAtSeconds + this.#retentionSeconds;
      }
      this.#expiredCount += batch.left;
      this.#dropHead();
    }
  }

  #dropHead(): void {
    this.#head += 1;
    if (this.#head < COMPACT_AT) return;
    this.#batches = this.#batches.slice(this.#head);
    this.#head = 0;
  }
}
