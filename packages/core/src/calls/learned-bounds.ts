import { modelRefOf } from '../domain/breaker.ts';
import { type CallKey, nameOfCall } from '../domain/budget.ts';

/** A model, as requests name it. */
interface Model {
  readonly lane: string;
  readonly model: string;
}

/** A call that is reserved: what it may cost by its request, and until when it is in flight at most. */
interface BoundedCall extends Model {
  readonly boundNanoUsd: number;
  /** Monotonic, ms. */
  readonly untilMs: number;
}

/** A bound that a call has exceeded, and what the bounds of its model are multiplied by from now on. */
export interface RaisedBound extends Model {
  readonly boundNanoUsd: number;
  readonly ratio: number;
}

/**
 * What the calls of each model have really cost, as multiples of their bounds: some vendors ignore a maximum of tokens.
 *
 * Until one call has shown that, or has not, the others of its model wait: all that are in flight may cost more.
 */
export class LearnedBounds {
  /** By model, once a call of it is known; at least 1. */
  readonly #ratios = new Map<string, number>();
  readonly #open = new Map<string, BoundedCall>();

  /** Whether a call has to wait for the first one of its model. */
  isUnknown(model: Model, nowMs: number): boolean {
    if (this.#ratios.has(modelRefOf(model))) return false;
    return [...this.#open.values()].some(
      (call) => modelRefOf(call) === modelRefOf(model) && nowMs < call.untilMs,
    );
  }

  /** What a bound by the request alone is multiplied by. */
  ratioOf(model: Model): number {
    return this.#ratios.get(modelRefOf(model)) ?? 1;
  }

  /** Notes a call that is reserved. */
  add(call: CallKey, bounded: BoundedCall, nowMs: number): void {
    // Another process has settled them, or nobody will.
    for (const [name, { untilMs }] of this.#open) if (untilMs <= nowMs) this.#open.delete(name);
    this.#open.set(nameOfCall(call), bounded);
  }

  /**
   * Learns from the cost of a call.
   *
   * @param costNanoUsd - Null where nobody knows it, 0 where it was not billed: neither says anything.
   * @returns The bound that it has raised.
   */
  settle(call: CallKey, costNanoUsd: number | null): RaisedBound | undefined {
    const bounded = this.#open.get(nameOfCall(call));
    this.#open.delete(nameOfCall(call));
    if (bounded === undefined || costNanoUsd === null || costNanoUsd === 0) return undefined;
    const { lane, model, boundNanoUsd } = bounded;
    const before = this.ratioOf(bounded);
    const ratio = Math.max(before, costNanoUsd / boundNanoUsd);
    this.#ratios.set(modelRefOf(bounded), ratio);
    return ratio > before ? { lane, model, boundNanoUsd, ratio } : undefined;
  }
}
