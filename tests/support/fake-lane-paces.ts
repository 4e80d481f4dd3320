import type { CountedCalls, LanePace, LanePaces, ReturnRange, TakenTurns } from '@thrice/core';

/** The paces of lanes, in memory. */
export class FakeLanePaces implements LanePaces {
  /** Names of the calls, in order. */
  readonly log: (keyof LanePaces)[] = [];
  readonly #paces = new Map<string, LanePace>();
  readonly #returnsAtMs = new Map<string, number>();
  #processNo = 0;

  /** Returns the name of another process, for its tokens. */
  nameProcess(): string {
    this.#processNo += 1;
    return `process-${this.#processNo}`;
  }

  async read(lane: string): Promise<LanePace | undefined> {
    this.log.push('read');
    return this.#paces.get(lane);
  }

  async replace(existing: LanePace | undefined, pace: LanePace): Promise<boolean> {
    this.log.push('replace');
    const stored = this.#paces.get(pace.lane);
    if (stored?.token !== existing?.token) return false;
    const groups = pace.groups.map((turns, place) => {
      const [before, now] = [existing?.groups[place], stored?.groups[place]];
      const isKept =
        turns?.group === before?.group && (turns?.lastTurn ?? 0) >= (before?.lastTurn ?? 0);
      if (turns === null || !now || !isKept) return turns;
      return { ...turns, lastTurn: now.lastTurn, lastTokens: now.lastTokens };
    });
    const { callCount, refusalCount } = stored ?? { callCount: 0, refusalCount: 0 };
    this.#paces.set(pace.lane, { ...pace, groups, callCount, refusalCount });
    return true;
  }

  async takeTurns(lane: string, place: number, { count, tokens }: TakenTurns): Promise<LanePace> {
    this.log.push('takeTurns');
    const pace = this.#paces.get(lane);
    if (pace === undefined) throw new Error(`expected a pace of ${lane}`);
    const groups = pace.groups.map((turns, index) =>
      turns === null || index !== place
        ? turns
        : { ...turns, lastTurn: turns.lastTurn + count, lastTokens: turns.lastTokens + tokens },
    );
    const taken = { ...pace, groups, callCount: pace.callCount + count };
    this.#paces.set(lane, taken);
    return taken;
  }

  async count(lane: string, { calls, refusals }: CountedCalls): Promise<LanePace> {
    this.log.push('count');
    const pace = this.#paces.get(lane);
    if (pace === undefined) throw new Error(`expected a pace of ${lane}`);
    const { callCount, refusalCount } = pace;
    const counted = {
      ...pace,
      callCount: callCount + calls,
      refusalCount: refusalCount + refusals,
    };
    this.#paces.set(lane, counted);
    return counted;
  }

  async reserveReturn(
    lane: string,
    { earliestMs, latestMs, intervalMs }: ReturnRange,
  ): Promise<number> {
    this.log.push('reserveReturn');
    const nextMs = (this.#returnsAtMs.get(lane) ?? 0) + intervalMs;
    const returnAtMs = nextMs >= earliestMs && nextMs <= latestMs ? nextMs : earliestMs;
    this.#returnsAtMs.set(lane, returnAtMs);
    return returnAtMs;
  }
}
