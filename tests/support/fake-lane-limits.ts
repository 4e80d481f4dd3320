import {
  type Clock,
  exchangeShare,
  type LaneLimit,
  type LaneLimits,
  type LaneReport,
  type LaneShare,
  unknownLimit,
  withoutHolder,
} from '@thrice/core';

/** The limits of lanes in memory, which the governors of a test share. */
export class FakeLaneLimits implements LaneLimits {
  readonly #clock: Clock;
  readonly #limits = new Map<string, LaneLimit>();
  /** How long an exchange takes, ms. */
  latencyMs = 0;
  exchangeCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async exchange(account: string, report: LaneReport): Promise<LaneShare> {
    this.exchangeCount += 1;
    if (this.latencyMs > 0) await this.#clock.sleep(this.latencyMs);
    const nowMs = this.#clock.now();
    const existing = this.#limits.get(account) ?? unknownLimit(nowMs);
    const { limit, share } = exchangeShare(existing, report, nowMs);
    this.#limits.set(account, limit);
    return share;
  }

  async leave(accounts: readonly string[], owner: string): Promise<void> {
    for (const account of accounts) {
      const existing = this.#limits.get(account);
      const limit = existing === undefined ? undefined : withoutHolder(existing, owner);
      if (limit === undefined) this.#limits.delete(account);
      else this.#limits.set(account, limit);
    }
  }

  async read(account: string): Promise<LaneLimit | undefined> {
    return this.#limits.get(account);
  }
}
