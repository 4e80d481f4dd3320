import { isDeepStrictEqual } from 'node:util';
import type {
  CacheClaim,
  CachedResponse,
  CacheEntry,
  CellStep,
  Clock,
  JournalEntry,
  ResponseCache,
  SharedCall,
} from '@thrice/core';

/** What the cache reads of a ledger. */
interface Journals {
  entry(step: CellStep): JournalEntry | undefined;
  entriesOf(run: string, config: string): readonly CachedResponse[];
  isBuying(step: CellStep): boolean;
}

/** An in-memory response cache over the journals of a fake ledger. */
export class FakeResponseCache implements ResponseCache {
  readonly #ledger: Journals;
  readonly #clock: Clock;
  readonly #claims = new Map<string, { readonly buyer: CellStep; readonly sinceMs: number }>();

  constructor(ledger: Journals, clock: Clock) {
    this.#ledger = ledger;
    this.#clock = clock;
  }

  async claimCall(call: SharedCall, buyer: CellStep): Promise<CacheClaim> {
    const name = nameOf(call);
    const claim = this.#claims.get(name);
    if (claim !== undefined && !isDeepStrictEqual(claim.buyer, buyer)) {
      const entry = this.#ledger.entry(claim.buyer);
      if (entry !== undefined) return { kind: 'bought', buyer: claim.buyer, entry };
      if (this.#ledger.isBuying(claim.buyer)) return { kind: 'held', sinceMs: claim.sinceMs };
    }
    this.#claims.set(name, { buyer, sinceMs: this.#clock.now() });
    return { kind: 'granted' };
  }

  async findCall(calls: readonly SharedCall[]): Promise<CachedResponse | undefined> {
    for (const call of calls) {
      const buyer = this.#claims.get(nameOf(call))?.buyer;
      const entry = buyer && this.#ledger.entry(buyer);
      if (buyer !== undefined && entry !== undefined) return { buyer, entry };
    }
    return undefined;
  }

  async addEntries(entries: readonly CacheEntry[]): Promise<void> {
    for (const { call, buyer } of entries) {
      const name = nameOf(call);
      if (!this.#claims.has(name)) this.#claims.set(name, { buyer, sinceMs: this.#clock.now() });
    }
  }

  async *listResponses(
    run: string,
    config: string,
    after = '0',
  ): ReturnType<ResponseCache['listResponses']> {
    const entries = this.#ledger.entriesOf(run, config);
    for (const [index, { buyer, entry }] of entries.entries()) {
      if (index < Number(after)) continue;
      const { fingerprint, sample } = entry;
      yield { fingerprint, sample, buyer, place: String(index + 1) };
    }
  }

  /** Deletes the claims of a run. */
  forget(run: string): void {
    for (const name of this.#claims.keys())
      if (name.startsWith(`${run}#`)) this.#claims.delete(name);
  }
}

function nameOf({ run, config, fingerprint, sample }: SharedCall): string {
  return `${run}#${config}#${fingerprint}#${sample}`;
}
