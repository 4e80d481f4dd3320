interface Batch {
  readonly sentAtSeconds: number;
  readonly isRetry: boolean;
  remaining: number;
}

/** Used-up batches are dropped from the front once there are this many. */
const COMPACT_AT = 4_096;

/**
 * The visible messages of a queue, oldest first; messages sent together are one batch.
 *
 * SQS itself promises no order. When the retention time ends it deletes a message silently, without
 * moving it to the dead-letter queue.
 */
export class MessageBacklog {
  readonly #retentionSeconds: number;
  #batches: Batch[] = [];
  #head = 0;
  #expiredCount = 0;
  #expiredAtSeconds = 0;
  #receivedAgeSeconds = 0;
  #isRetryReceived = false;

  constructor(retentionSeconds: number) {
    this.#retentionSeconds = retentionSeconds;
  }

  get isEmpty(): boolean {
    return this.#head === this.#batches.length;
  }

  /** Messages that expired before they were received. */
  get expiredCount(): number {
    return this.#expiredCount;
  }

  /** When the first message expired, s; 0 if none has. */
  get expiredAtSeconds(): number {
    return this.#expiredAtSeconds;
  }

  /** How long the last received message had waited, s. */
  get receivedAgeSeconds(): number {
    return this.#receivedAgeSeconds;
  }

  /** Whether the last received message is for a cell that was released. */
  get isRetryReceived(): boolean {
    return this.#isRetryReceived;
  }

  /**
   * @param atSeconds - Not before any earlier message.
   * @param isRetry - Whether the messages are for cells that were released.
   */
  push(atSeconds: number, count: number, isRetry: boolean): void {
    this.#batches.push({ sentAtSeconds: atSeconds, remaining: count, isRetry });
  }

  /** Receives the oldest message that has not expired. Returns false when there is none. */
  receive(nowSeconds: number): boolean {
    for (;;) {
      const batch = this.#batches[this.#head];
      if (batch === undefined) return false;
      const ageSeconds = nowSeconds - batch.sentAtSeconds;
      if (ageSeconds < this.#retentionSeconds) {
        batch.remaining -= 1;
        if (batch.remaining === 0) this.#dropHead();
        this.#receivedAgeSeconds = ageSeconds;
        this.#isRetryReceived = batch.isRetry;
        return true;
      }
      if (this.#expiredCount === 0) {
        this.#expiredAtSeconds = batch.sentAtSeconds + this.#retentionSeconds;
      }
      this.#expiredCount += batch.remaining;
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
