import {
  type Clock,
  type GroupWork,
  limits,
  type WorkClaim,
  type WorkLeases,
  workLeaseMs,
} from '@thrice/core';

interface StoredWork {
  readonly owner: string | undefined;
  readonly requestId: string;
  readonly leaseUntilMs: number;
  readonly checkpoint: string | undefined;
  /** Claims since the last checkpoint. */
  readonly claimCount: number;
}

const absent: StoredWork = {
  owner: undefined,
  requestId: '',
  leaseUntilMs: 0,
  checkpoint: undefined,
  claimCount: 0,
};

/** Work in parts, in memory. */
export class FakeWorkLeases implements WorkLeases {
  readonly #clock: Clock;
  readonly #works = new Map<string, StoredWork>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Work that has begun and not ended. */
  get count(): number {
    return this.#works.size;
  }

  async claim(work: GroupWork, owner: string, requestId: string): Promise<WorkClaim> {
    const stored = this.#works.get(nameOf(work)) ?? absent;
    const leaseMs = stored.leaseUntilMs - this.#clock.now();
    if (leaseMs > 0) {
      const earlierCount = Math.max(0, stored.claimCount - 1);
      return { kind: 'held', requestId: stored.requestId, failureCount: earlierCount, leaseMs };
    }
    const { checkpoint, claimCount: failureCount } = stored;
    const leaseUntilMs = this.#clock.now() + workLeaseMs(failureCount);
    const claimCount = failureCount + 1;
    this.#works.set(nameOf(work), { owner, requestId, leaseUntilMs, checkpoint, claimCount });
    return { kind: 'claimed', checkpoint, failureCount };
  }

  async extend(work: GroupWork, owner: string, leaseMs: number): Promise<boolean> {
    return this.#change(work, owner, { leaseUntilMs: this.#clock.now() + leaseMs });
  }

  async save(work: GroupWork, owner: string, checkpoint: string): Promise<boolean> {
    const leaseUntilMs = this.#clock.now() + limits.leaseMs;
    return this.#change(work, owner, { leaseUntilMs, checkpoint, claimCount: 0 });
  }

  async release(work: GroupWork, owner: string): Promise<void> {
    this.#change(work, owner, { owner: undefined, leaseUntilMs: 0 });
  }

  async end(work: GroupWork, owner: string): Promise<void> {
    if (this.#works.get(nameOf(work))?.owner === owner) this.#works.delete(nameOf(work));
  }

  async endAll(group: string): Promise<void> {
    for (const [name] of this.#list(group)) this.#works.delete(name);
  }

  async revokeAll(group: string): Promise<boolean> {
    const works = this.#list(group);
    for (const [name, work] of works) this.#works.set(name, { ...work, owner: 'deletion' });
    return works.some(([, { owner }]) => owner !== undefined);
  }

  #list(group: string): readonly (readonly [string, StoredWork])[] {
    return [...this.#works].filter(([name]) => name.startsWith(nameOf({ group })));
  }

  #change(work: GroupWork, owner: string, change: Partial<StoredWork>): boolean {
    const stored = this.#works.get(nameOf(work));
    if (stored?.owner !== owner) return false;
    this.#works.set(nameOf(work), { ...stored, ...change });
    return true;
  }
}

function nameOf({ group, work = '' }: Partial<GroupWork>): string {
  return `${group}#${work}`;
}
