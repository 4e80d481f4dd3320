import type { Parked, Watched, Watchlist } from '@thrice/core';

/** A watchlist in memory. */
export class FakeWatchlist implements Watchlist {
  /** Names of the methods that changed something, in order. */
  readonly log: string[] = [];
  readonly #watched = new Map<string, Watched>();
  readonly #parked = new Map<string, Parked>();
  readonly #failures = new Map<keyof Watchlist, Error>();
  #tokenNo = 0;

  /** The next call of a method fails, with nothing changed. */
  failNext(method: keyof Watchlist, error: Error): void {
    this.#failures.set(method, error);
  }

  async watch(group: string): Promise<void> {
    this.#note('watch');
    this.#watched.set(group, { group, token: this.#createToken() });
  }

  async unwatch({ group, token }: Watched): Promise<void> {
    this.#note('unwatch');
    if (this.#watched.get(group)?.token === token) this.#watched.delete(group);
  }

  async listWatched(): Promise<readonly Watched[]> {
    return [...this.#watched.values()];
  }

  async park(subject: string, group: string): Promise<void> {
    this.#note('park');
    const token = this.#createToken();
    this.#parked.set(nameOf({ subject, group }), { subject, group, token });
  }

  async listParked(): Promise<readonly Parked[]> {
    return [...this.#parked.values()];
  }

  async unpark(parked: Parked): Promise<void> {
    this.#note('unpark');
    const name = nameOf(parked);
    if (this.#parked.get(name)?.token === parked.token) this.#parked.delete(name);
  }

  #createToken(): string {
    this.#tokenNo += 1;
    return `token-${this.#tokenNo}`;
  }

  #note(method: keyof Watchlist): void {
    const failure = this.#failures.get(method);
    this.#failures.delete(method);
    if (failure !== undefined) throw failure;
    this.log.push(method);
  }
}

function nameOf({ subject, group }: Pick<Parked, 'subject' | 'group'>): string {
  return JSON.stringify([subject, group]);
}
