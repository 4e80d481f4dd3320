import type { Block, LaneShare } from '../domain/lanes/lane-report.ts';
import { BLOCK_MS, lateToleranceMs } from '../domain/lanes/lease-rate.ts';

/** A lease that falls short by so little is enough: the rate may have fallen since. */
const SLACK_RATIO = 0.1;

/** A leased block as far as it is not used. */
interface Remainder {
  /** When the next unit is due. */
  atMs: number;
  readonly untilMs: number;
}

/**
 * What a process may still use of one rate of a lane, by its own clock.
 *
 * free --a lane without a limit gets one--> limited: each unit is due `msPerUnit` after the one before
 */
class Allowance {
  #blocks: Remainder[] = [];
  #msPerUnit: number | undefined;
  #most = 0;

  get isFree(): boolean {
    return this.#msPerUnit === undefined;
  }

  /** How much the process may lease ahead. */
  get most(): number {
    return this.#most;
  }

  /** Infinite without a limit. */
  get perMinute(): number {
    return this.#msPerUnit === undefined ? Number.POSITIVE_INFINITY : 60_000 / this.#msPerUnit;
  }

  add(block: Block | null, offsetMs: number): void {
    this.#msPerUnit = block?.msPerUnit;
    this.#most = block?.most ?? 0;
    if (block === null) this.#blocks = [];
    else if (block.untilMs > block.fromMs)
      this.#blocks.push({ atMs: block.fromMs + offsetMs, untilMs: block.untilMs + offsetMs });
  }

  /** When the next unit is due; undefined if none is leased. */
  get dueAtMs(): number | undefined {
    return this.#blocks[0]?.atMs;
  }

  get left(): number {
    const leftMs = this.#blocks.reduce((sum, { atMs, untilMs }) => sum + untilMs - atMs, 0);
    return leftMs / (this.#msPerUnit ?? 1);
  }

  /** The time of so much at the present rate, ms. */
  timeOf(amount: number): number {
    return amount * (this.#msPerUnit ?? 0);
  }

  /** Loses what was due before a time. */
  skipTo(atMs: number): void {
    this.#blocks = this.#blocks.filter(({ untilMs }) => untilMs > atMs);
    for (const block of this.#blocks) block.atMs = Math.max(block.atMs, atMs);
  }

  /** When so much may be used; infinite if so much is not leased. */
  readyAtMs(amount: number): number {
    if (this.isFree) return 0;
    this.#loseRests(amount);
    const isLeased = this.left >= amount * (1 - SLACK_RATIO);
    const [first] = isLeased ? this.#blocks : [];
    return first?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Where a call takes a block of its own, what is left of one that began late is too short: the call would come too close
   * to the next one, of another process.
   */
  #loseRests(amount: number): void {
    const unitMs = this.timeOf(amount);
    const isEnough = ({ atMs, untilMs }: Remainder) => untilMs - atMs >= unitMs * (1 - SLACK_RATIO);
    if (unitMs >= BLOCK_MS) this.#blocks = this.#blocks.filter(isEnough);
  }

  /** @param sinceMs - Since when the caller has waited: what was due before lay idle. */
  take(amount: number, sinceMs: number): void {
    let leftMs = amount * (this.#msPerUnit ?? 0);
    while (leftMs > 0) {
      const [block] = this.#blocks;
      if (block === undefined) return;
      const atMs = Math.max(block.atMs, Math.min(sinceMs, block.untilMs - leftMs));
      const takenMs = Math.min(leftMs, block.untilMs - atMs);
      block.atMs = atMs + takenMs;
      leftMs -= takenMs;
      // The sums of many fractions may miss the end.
      if (block.untilMs - block.atMs < 1e-6) this.#blocks.shift();
    }
  }
}

/** What the callers of a lane wait for. */
export interface LaneDemand {
  readonly waiting: number;
  /** The tokens of those that come first, as many as may be granted soon. */
  readonly tokens: readonly number[];
}

/**
 * What a process may use of a lane, between two exchanges with the ledger.
 *
 * Times are those of the process's own clock; those of the ledger differ by an offset.
 */
export class LaneAllowance {
  readonly #requests = new Allowance();
  readonly #tokens = new Allowance();
  #heldUntilMs = 0;
  #slots: number | null = null;

  /** No call before this time. */
  get heldUntilMs(): number {
    return this.#heldUntilMs;
  }

  /** Calls in flight at most; null without a limit. */
  get slots(): number | null {
    return this.#slots;
  }

  /** Whether the lane has no known rate limit. */
  get isFree(): boolean {
    return this.#requests.isFree && this.#tokens.isFree;
  }

  /** The limit in tokens a minute, as it was last leased; infinite without one. */
  get tokensPerMinute(): number {
    return this.#tokens.perMinute;
  }

  /** @param offsetMs - The process's clock less the ledger's. */
  add(share: LaneShare, offsetMs: number): void {
    this.#slots = share.slots;
    this.#requests.add(share.requests, offsetMs);
    this.#tokens.add(share.tokens, offsetMs);
    this.hold(share.heldUntilMs + offsetMs);
  }

  /** Makes no call before a time. What would be due before is lost, for the lane must not be called faster afterward. */
  hold(untilMs: number): void {
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs);
    this.#requests.skipTo(untilMs);
    this.#tokens.skipTo(untilMs);
  }

  /** When a call of so many tokens may be sent, as far as is known; infinite if more has to be leased first. */
  readyAtMs(tokens: number, nowMs: number): number {
    this.#loseWhatIsLate(tokens, nowMs);
    return Math.max(this.#heldUntilMs, this.#requests.readyAtMs(1), this.#tokens.readyAtMs(tokens));
  }

  /**
   * What was leased and not used is lost after a while: a burst would be refused. A rate is not late as long as calls
   * wait for the other.
   */
  #loseWhatIsLate(tokens: number, nowMs: number): void {
    const rates = [this.#requests, this.#tokens].filter(({ isFree }) => !isFree);
    const dueAtMs = rates.map((rate) => rate.dueAtMs ?? Number.POSITIVE_INFINITY);
    const unitMs = Math.max(this.#requests.timeOf(1), this.#tokens.timeOf(tokens));
    const lateMs = nowMs - lateToleranceMs(unitMs) - Math.max(...dueAtMs);
    if (lateMs <= 0) return;
    for (const rate of rates) rate.skipTo((rate.dueAtMs ?? 0) + lateMs);
  }

  take(tokens: number, sinceMs: number): void {
    this.#requests.take(1, sinceMs);
    this.#tokens.take(tokens, sinceMs);
  }

  /**
   * What should be leased now: enough for the callers that wait, or as much as was used of late; nothing while at
   * least half of that is left.
   *
   * @param recent - Calls and tokens granted during the last half second, for callers that are still to come.
   */
  wants(
    { waiting, tokens }: LaneDemand,
    recent: { readonly requests: number; readonly tokens: number },
  ): { readonly requests: number; readonly tokens: number; readonly first: number } {
    const first = tokens[0] ?? 1;
    if (waiting === 0) return { requests: 0, tokens: 0, first };
    const want = (allowance: Allowance, amount: number, least: number) => {
      if (allowance.isFree) return 0;
      const { left } = allowance;
      const target = Math.max(least, Math.min(amount, allowance.most));
      return left >= least * (1 - SLACK_RATIO) && left > target / 2 ? 0 : target - left;
    };
    const sum = tokens.reduce((total, each) => total + each, 0);
    return {
      requests: Math.ceil(want(this.#requests, Math.max(waiting, recent.requests), 1)),
      tokens: want(this.#tokens, Math.max(sum, recent.tokens), first),
      first,
    };
  }
}
