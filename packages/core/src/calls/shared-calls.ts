import { type ClockReading, passedMsSince, readClock } from '../cells/clock-reading.ts';
import type { Worker } from '../cells/worker.ts';
import type { Config } from '../domain/benchmark.ts';
import type { CellStep, JournalEntry, PassedOver } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import { limits } from '../limits.ts';
import type { CachedResponse, SharedCall } from '../ports/response-cache.ts';
import { purposeOf } from './purpose-of.ts';

/** Where a call comes from. */
export type CacheLookup =
  /** From the model: nobody else has it or buys it. */
  | { readonly kind: 'buy' }
  /** From the journal of another cell. */
  | ({ readonly kind: 'taken' } & CachedResponse)
  /** From a cell that is about to buy it. */
  | { readonly kind: 'wait'; readonly delayMs: number };

/** The request of a step, as the journal names it. */
export interface IdentifiedRequest extends Omit<SharedCall, 'run' | 'config'> {
  readonly step: string;
}

const BUY: CacheLookup = { kind: 'buy' };

/** Takes the calls of one cell from the response cache, where its benchmark says so. */
export class SharedCalls {
  readonly #key: CellKey;
  readonly #worker: Pick<Worker, 'benchmark' | 'responseCache' | 'clock'>;
  /** When the cell was last granted a call. */
  #grantedAt: ClockReading | undefined;

  constructor(key: CellKey, worker: Pick<Worker, 'benchmark' | 'responseCache' | 'clock'>) {
    this.#key = key;
    this.#worker = worker;
  }

  /** Whether the calls of the cell may be those of others. */
  get mayBeTaken(): boolean {
    const { sharesCalls, reusesCalls } = this.#worker.benchmark;
    return sharesCalls || reusesCalls;
  }

  /**
   * Claims a call for the cell, unless another has it or is about to.
   *
   * @param isUsable - Whether the cell may take the answer of a journal entry for its own.
   */
  async lookUp(
    { step, fingerprint, sample }: IdentifiedRequest,
    isUsable: (entry: JournalEntry) => boolean,
  ): Promise<CacheLookup> {
    const { benchmark, responseCache, clock } = this.#worker;
    const call = { run: this.#key.run, config: null, fingerprint, sample };
    if (!benchmark.sharesCalls)
      return benchmark.reusesCalls ? await this.#find(call, isUsable) : BUY;
    const buyer: CellStep = { ...this.#key, step };
    const claim = await responseCache.claimCall(call, buyer);
    switch (claim.kind) {
      case 'granted':
        this.#grantedAt = readClock(clock);
        return BUY;
      case 'bought':
        return isUsable(claim.entry) ? { ...claim, kind: 'taken' } : BUY;
      case 'held':
        return { kind: 'wait', delayMs: waitMs(clock.now() - claim.sinceMs) };
    }
  }

  /** Takes a call that an earlier group has bought, for choice under the same config. */
  async #find(call: SharedCall, isUsable: (entry: JournalEntry) => boolean): Promise<CacheLookup> {
    const own = { ...call, config: this.#key.config };
    const response = await this.#worker.responseCache.findCall([own, call]);
    return response !== undefined && isUsable(response.entry)
      ? { kind: 'taken', ...response }
      : BUY;
  }

  /** Whether others may have found the lease of the cell expired since it was granted the call. */
  get isDoubtful(): boolean {
    const { clock } = this.#worker;
    return (
      this.#grantedAt !== undefined && passedMsSince(this.#grantedAt, clock) >= limits.leaseMs / 2
    );
  }
}

/** Half as long as the other cell has taken so far. */
function waitMs(passedMs: number): number {
  const { sharedCallWaitBaseMs, sharedCallWaitCapMs } = limits;
  return Math.min(sharedCallWaitCapMs, Math.max(sharedCallWaitBaseMs, passedMs / 2));
}

/** The journal entry of a step that takes its call from another cell, or another call of its own, which is paid for. */
export function takenEntry(
  { buyer, entry }: CachedResponse,
  {
    insteadOf,
    ...own
  }: Pick<JournalEntry, 'step' | 'position' | 'generation' | 'failedAttempts' | 'sample'> & {
    /** The models that should have answered this cell before. */
    readonly insteadOf: readonly PassedOver[];
  },
  /** That of the cell that takes it, which may want it for another purpose than the buyer. */
  config: Config | undefined,
): JournalEntry {
  // A call that was taken itself names the one that has paid.
  const { takenFrom, grading: _, insteadOf: __, ...facts } = entry.call;
  const { purpose, ...grading } = purposeOf(config);
  const call = {
    ...facts,
    purpose,
    step: own.step,
    costUsd: 0,
    replayed: true,
    takenFrom: takenFrom ?? buyer,
    discarded: null,
    ...grading,
    ...(insteadOf.length > 0 && { insteadOf: [...insteadOf] }),
  };
  return { ...entry, ...own, call };
}
