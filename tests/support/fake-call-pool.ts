import { isDeepStrictEqual } from 'node:util';
import type { CallPool, CellStep, Clock, JournalEntry, PoolClaim, PooledCall } from '@thrice/core';

/** What the pool reads of a ledger. */
interface Journals {
  entry(step: CellStep): JournalEntry | undefined;
  isBuying(step: CellStep): boolean;
}

/** An in-memory pool over the journals of a fake ledger. */
export class FakeCallPool implements CallPool {
  readonly #ledger: Journals;
  readonly #clock: Clock;
  readonly #claims = new Map<string, { readonly buyer: CellStep; readonly sinceMs: number }>();

  constructor(ledger: Journals, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  async claimCall({ run, fingerprint, sample }: PooledCall, buyer: CellStep): Promise<PoolClaim> {
    const name = `${run}#${fingerprint}#${sample}`;
    const claim = this.#claims.get(name);
    if (claim !== undefined && !isDeepStrictEqual(claim.buyer, buyer)) {
      const entry = this.#ledger.entry(claim.buyer);
      if (entry !== undefined) return { kind: 'bought', buyer: claim.buyer, entry };
      if (this.#ledger.isBuying(claim.buyer)) return { kind: 'held', sinceMs: claim.sinceMs };
    }
    this.#claims.set(name, { buyer, sinceMs: this.#clock.now() });
    return { kind: 'granted' };
  }

  /** Deletes the claims of a run. */
  forget(run: string): void {
    for (const name of this.#claims.keys())
      if (name.startsWith(`${run}#`)) this.#claims.delete(name);
  }
}
