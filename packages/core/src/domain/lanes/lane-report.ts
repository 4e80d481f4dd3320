import type { Holder } from './lane-limit.ts';
import type { LimitKind } from './limit-kind.ts';

/** What a process has to say of a lane since it last did, and what it wants. */
export interface LaneReport {
  readonly owner: string;
  readonly group: string;
  readonly inUse: number;
  readonly waiting: number;
  readonly spec: Pick<Holder, 'requestsPerMinute' | 'tokensPerMinute' | 'maxConcurrency'>;
  /** Calls sent since, and the tokens reserved for them. */
  readonly used: { readonly requests: number; readonly tokens: number };
  /** Tokens that were reserved for calls that used fewer; below 0 for more. */
  readonly returnedTokens: number;
  readonly stated: { readonly requests: number | null; readonly tokens: number | null };
  readonly refusals: readonly RefusedCall[];
  /** Requests and tokens that its callers wait for; how many of them it gets depends on the others. */
  readonly wants: { readonly requests: number; readonly tokens: number; readonly first: number };
}

/** A call that the vendor refused. */
export interface RefusedCall {
  readonly sentAtMs: number;
  readonly retryAfterMs: number | undefined;
  /** The limit that the vendor names; null if it names none. */
  readonly named: LimitKind | null;
  /** What the vendor said, for people. */
  readonly reason: string;
}

/** What a process may do. */
export interface LaneShare {
  readonly heldUntilMs: number;
  readonly reason: string | null;
  /** Calls in flight at most; null without a limit. */
  readonly slots: number | null;
  /** Null where the lane has no limit in requests, or in tokens. */
  readonly requests: Block | null;
  readonly tokens: Block | null;
}

/** A time in which a process alone may use a rate of a lane. */
export interface Block {
  /** Since 1970; the same if nothing is leased. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Time between two requests, or two tokens, ms. */
  readonly msPerUnit: number;
  /** How much a process may lease ahead. */
  readonly most: number;
}
