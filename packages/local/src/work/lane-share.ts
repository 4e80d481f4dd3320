import {
  type CallEnd,
  type Clock,
  HOLDER_AGE_MS,
  type Lane,
  LaneAllowance,
  type LaneLimits,
  type LaneReport,
  type LaneShare as LeasedShare,
  limitNamedIn,
  type PermitRequest,
  readRateLimits,
} from '@thrice/core';

/** How often a process that uses a lane says so, ms. */
const EXCHANGE_MS = 1_000;
/** How often one whose callers wait for a limited lane does: others may have learned that the lane is slower. */
const WAITING_EXCHANGE_MS = 250;
/** How long a process waits that was leased nothing, because another group comes first, ms. */
const LEASE_AGAIN_MS = 100;
/** What was learned so long ago, ms, may be another's by now: a process that is not heard of loses its slots. */
const SLOTS_AGE_MS = HOLDER_AGE_MS / 2;
/** After a failed exchange, the next one, ms. */
const RETRY_MS = 1_000;
/** The use of late, for what is leased ahead, ms. */
const RECENT_MS = 500;
/** Calls whose tokens are leased together at most. */
const LEASED_AHEAD = 200;
/** Tokens of an answer whose length is neither bounded nor known yet. */
const UNKNOWN_OUTPUT_TOKENS = 1_000;
/** From so many answers on, what calls really use corrects what is reserved for them. */
const ENOUGH_ANSWERS = 5;
/** Older answers count less: each answer lowers their weight to this. */
const MEMORY_RATIO = 0.98;

/** What the calls of a model have used. */
interface ModelUse {
  answers: number;
  /** Tokens that were bounded, and used. */
  bounded: number;
  used: number;
  output: number;
}

/** A call that was granted. */
export interface GrantedCall {
  readonly model: string;
  /** Its bound, and what is reserved for it. */
  readonly boundTokens: number;
  readonly reservedTokens: number;
  readonly sentAtMs: number;
}

/** What waits for a lane in this process. */
export interface WaitingCalls {
  readonly inUse: number;
  readonly waiting: number;
  /** Those that wait, in order. */
  readonly waiters: Iterable<{ readonly tokens: number }>;
}

/**
 * The share of this process in the limits of a lane.
 *
 * closed --first exchange--> open --an exchange is due--> exchanging --it ends--> open
 *
 * Nothing is granted before the first exchange: other processes may use the lane up.
 */
export class LaneShare {
  readonly #account: string;
  readonly #identity: Pick<LaneReport, 'owner' | 'group' | 'spec'>;
  readonly #limits: LaneLimits;
  readonly #clock: Clock;
  readonly #allowance = new LaneAllowance();
  readonly #models = new Map<string, ModelUse>();
  /** Called when an exchange has ended. */
  onChange: () => void = () => undefined;
  #isOpen = false;
  #isExchanging = false;
  #exchangedMs = Number.NEGATIVE_INFINITY;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #leaseAtMs = Number.NEGATIVE_INFINITY;
  #pending = noReport();
  #recent = { sinceMs: 0, requests: 0, tokens: 0, requestsBefore: 0, tokensBefore: 0 };

  constructor(init: {
    readonly lane: Lane;
    readonly owner: string;
    readonly group: string;
    readonly limits: LaneLimits;
    readonly clock: Clock;
  }) {
    const { lane, owner, group } = init;
    const { requestsPerMinute = null, tokensPerMinute = null, maxConcurrency = null } = lane;
    this.#account = accountOf(lane);
    this.#identity = {
      owner,
      group,
      spec: { requestsPerMinute, tokensPerMinute, maxConcurrency },
    };
    this.#limits = init.limits;
    this.#clock = init.clock;
  }

  /**
   * Tokens to reserve for a call: its bound, as far as earlier answers of the model have not shown that it is too high. A
   * call larger than the limit of a minute, which its vendor will refuse, holds the others up for no longer than that.
   */
  reserve({
    model,
    inputTokens,
    estimatedTokens,
  }: PermitRequest): Pick<GrantedCall, 'boundTokens' | 'reservedTokens'> {
    const use = this.#models.get(model);
    const isKnown = use !== undefined && use.answers >= ENOUGH_ANSWERS;
    const output = isKnown ? use.output / use.answers : UNKNOWN_OUTPUT_TOKENS;
    const boundTokens = Math.max(1, estimatedTokens ?? inputTokens + output);
    const ratio = isKnown && use.bounded > 0 ? use.used / use.bounded : 1;
    const minute = this.#identity.spec.tokensPerMinute ?? this.#allowance.tokensPerMinute;
    return { boundTokens, reservedTokens: Math.min(boundTokens * ratio, minute) };
  }

  /** Whether another call may be in flight, as far as other processes leave slots. */
  hasSlot(inUse: number, nowMs: number): boolean {
    const { slots } = this.#allowance;
    return slots === null || (inUse < slots && nowMs - this.#exchangedMs < SLOTS_AGE_MS);
  }

  /** When a call may be sent, monotonic; infinite until more is leased. */
  readyAtMs(tokens: number, nowMs: number): number {
    return this.#isOpen ? this.#allowance.readyAtMs(tokens, nowMs) : Number.POSITIVE_INFINITY;
  }

  /** No call before this time, monotonic ms. */
  get heldUntilMs(): number {
    return this.#allowance.heldUntilMs;
  }

  /** Uses what a call needs. */
  take(tokens: number, sinceMs: number): void {
    this.#allowance.take(tokens, sinceMs);
    this.#pending.requests += 1;
    this.#pending.tokens += tokens;
    const nowMs = this.#clock.monotonicMs();
    this.#shiftRecent(nowMs);
    this.#recent.requests += 1;
    this.#recent.tokens += tokens;
  }

  /** Notes how a call ended. */
  settle(call: GrantedCall, end: CallEnd): void {
    if (end.kind === 'failed') return;
    const { requestsPerMinute: requests, tokensPerMinute: tokens } = readRateLimits(end.rateLimits);
    if (requests !== null) this.#pending.stated.requests = requests;
    if (tokens !== null) this.#pending.stated.tokens = tokens;
    if (end.kind === 'answered') {
      this.#noteUsage(call, end);
      return;
    }
    const { retryAfterMs, reason, rateLimits } = end;
    const named = limitNamedIn(reason, rateLimits);
    this.#pending.refusals.push({ sentAtMs: call.sentAtMs, retryAfterMs, named, reason });
  }

  /** When the next exchange is due, monotonic; infinite while nothing uses the lane or one is under way. */
  dueAtMs(calls: WaitingCalls, nowMs: number): number {
    if (this.#isExchanging) return Number.POSITIVE_INFINITY;
    if (calls.inUse === 0 && calls.waiting === 0 && this.#pending.refusals.length === 0)
      return Number.POSITIVE_INFINITY;
    const isUrgent = !this.#isOpen || this.#pending.refusals.length > 0;
    const isLimited = !this.#allowance.isFree || !this.hasSlot(calls.inUse, nowMs);
    const intervalMs = calls.waiting > 0 && isLimited ? WAITING_EXCHANGE_MS : EXCHANGE_MS;
    const regularMs = isUrgent ? nowMs : this.#exchangedMs + intervalMs;
    const leaseMs = this.#wantsMore(calls, nowMs) ? this.#leaseAtMs : regularMs;
    return Math.max(Math.min(regularMs, leaseMs), this.#retryAtMs);
  }

  /** Begins an exchange if one is due. */
  exchangeIfDue(calls: WaitingCalls, nowMs: number): void {
    if (this.dueAtMs(calls, nowMs) <= nowMs) void this.#exchange(calls, nowMs);
  }

  async #exchange(calls: WaitingCalls, nowMs: number): Promise<void> {
    const { inUse, waiting } = calls;
    const { requests, tokens, ...pending } = this.#pending;
    const used = { requests, tokens };
    const wants = this.#wants(calls, nowMs);
    this.#pending = noReport();
    this.#isExchanging = true;
    try {
      const report = { ...this.#identity, ...pending, inUse, waiting, used, wants };
      const share = await this.#limits.exchange(this.#account, report);
      this.#allowance.add(share, this.#clock.monotonicMs() - this.#clock.now());
      this.#isOpen = true;
      this.#exchangedMs = nowMs;
      if (hasLeasedNothing(share, wants)) this.#leaseAtMs = nowMs + LEASE_AGAIN_MS;
    } catch {
      // A store that fails ends the work elsewhere. What was to be reported is lost, and nothing is leased.
      this.#retryAtMs = this.#clock.monotonicMs() + RETRY_MS;
    } finally {
      this.#isExchanging = false;
    }
    this.onChange();
  }

  #wantsMore(calls: WaitingCalls, nowMs: number): boolean {
    if (this.#allowance.isFree || nowMs < this.#allowance.heldUntilMs) return false;
    const { requests, tokens } = this.#wants(calls, nowMs);
    return requests > 0 || tokens > 0;
  }

  #wants({ waiting, waiters }: WaitingCalls, nowMs: number): LaneReport['wants'] {
    const tokens: number[] = [];
    for (const waiter of waiters) {
      if (tokens.length >= LEASED_AHEAD) break;
      tokens.push(waiter.tokens);
    }
    return this.#allowance.wants({ waiting, tokens }, this.#recentUse(nowMs));
  }

  #noteUsage(
    { model, boundTokens, reservedTokens }: GrantedCall,
    { usage }: Extract<CallEnd, { kind: 'answered' }>,
  ): void {
    const { inputTokens, outputTokens } = usage;
    if (inputTokens === null || outputTokens === null) return;
    const usedTokens = inputTokens + outputTokens;
    this.#pending.returnedTokens += reservedTokens - usedTokens;
    const use = this.#models.get(model) ?? { answers: 0, bounded: 0, used: 0, output: 0 };
    const add = (sum: number, value: number) => sum * MEMORY_RATIO + value;
    this.#models.set(model, {
      answers: add(use.answers, 1),
      bounded: add(use.bounded, boundTokens),
      used: add(use.used, usedTokens),
      output: add(use.output, outputTokens),
    });
  }

  #recentUse(nowMs: number): { readonly requests: number; readonly tokens: number } {
    this.#shiftRecent(nowMs);
    const { requestsBefore: requests, tokensBefore: tokens } = this.#recent;
    return { requests, tokens };
  }

  #shiftRecent(nowMs: number): void {
    const { sinceMs, requests, tokens } = this.#recent;
    if (nowMs - sinceMs < RECENT_MS) return;
    const isOld = nowMs - sinceMs >= 2 * RECENT_MS;
    this.#recent = {
      sinceMs: nowMs,
      requests: 0,
      tokens: 0,
      requestsBefore: isOld ? 0 : requests,
      tokensBefore: isOld ? 0 : tokens,
    };
  }
}

/** Whether a process wanted some of a rate and was leased none. */
function hasLeasedNothing({ requests, tokens }: LeasedShare, wants: LaneReport['wants']): boolean {
  const isEmpty = (block: LeasedShare['requests'], wanted: number) =>
    wanted > 0 && block !== null && block.untilMs <= block.fromMs;
  return isEmpty(requests, wants.requests) || isEmpty(tokens, wants.tokens);
}

/**
 * What identifies the account that a lane's limits belong to: its name, its endpoints and the variable of its key. Two groups
 * whose lanes agree in all three share the limits.
 */
export function accountOf({ name, endpoints, apiKeyEnv }: Lane): string {
  return JSON.stringify([name, [...endpoints].sort(), apiKeyEnv ?? null]);
}

function noReport() {
  const refusals: LaneReport['refusals'][number][] = [];
  const stated: { requests: number | null; tokens: number | null } = {
    requests: null,
    tokens: null,
  };
  return { requests: 0, tokens: 0, returnedTokens: 0, stated, refusals };
}
