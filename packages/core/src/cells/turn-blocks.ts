import { type LanePace, PACE_AGE_MS } from '../domain/lanes/lane-pace.ts';
import { nextTurn, type Turn } from '../domain/lanes/pace-turns.ts';
import type { Clock } from '../ports/clock.ts';
import type { LanePaces } from '../ports/lane-paces.ts';

/** The most turns that are taken at once. */
const MAX_BLOCK_TURNS = 32;

/** Whose turns are taken. */
export interface TurnOwner {
  readonly lane: string;
  readonly group: string;
  readonly place: number;
  /** That a call is expected to take. */
  readonly tokens: number;
}

/** The turns of a group that a process has taken and not used yet. */
interface Block {
  place: number;
  turns: Turn[];
  /** Monotonic. */
  takenAtMs: number;
  /** When its last calls took their turns, monotonic. */
  usedAtMs: number[];
  waitingCount: number;
  /** The taking in progress, or the last one. */
  taking: Promise<unknown>;
  /** Tokens that earlier calls took beyond those that were expected. */
  owedTokens: number;
}

/**
 * Takes the turns of a process in blocks: as many as it has used of late, in one write. So the writes to the pace of a lane are
 * bounded by the number of processes, not by its rate. What is left of a block after two seconds is lost.
 */
export class TurnBlocks {
  readonly #paces: LanePaces;
  readonly #clock: Clock;
  readonly #blocks = new Map<string, Block>();

  constructor(init: { readonly paces: LanePaces; readonly clock: Clock }) {
    this.#paces = init.paces;
    this.#clock = init.clock;
  }

  /**
   * Takes a turn.
   *
   * @returns With the pace, if it was read with the turn.
   */
  async take(owner: TurnOwner): Promise<{ readonly turn: Turn; readonly pace?: LanePace }> {
    const block = this.#blockOf(owner);
    block.waitingCount += 1;
    const taken = block.taking.then(async () => await this.#takeNext(block, owner));
    block.taking = taken.catch(() => undefined);
    try {
      return await taken;
    } finally {
      block.waitingCount -= 1;
    }
  }

  /** Notes what a call took beyond the tokens that it was expected to take; less than 0 for fewer. */
  owe({ lane, group }: Pick<TurnOwner, 'lane' | 'group'>, tokens: number): void {
    const block = this.#blocks.get(keyOf(lane, group));
    if (block !== undefined) block.owedTokens += tokens;
  }

  #blockOf({ lane, group, place }: TurnOwner): Block {
    const key = keyOf(lane, group);
    const known = this.#blocks.get(key);
    if (known?.place === place) return known;
    const taking = known?.taking ?? Promise.resolve();
    const block: Block = {
      place,
      turns: [],
      takenAtMs: 0,
      usedAtMs: [],
      waitingCount: 0,
      taking,
      owedTokens: 0,
    };
    this.#blocks.set(key, block);
    return block;
  }

  async #takeNext(
    block: Block,
    owner: TurnOwner,
  ): Promise<{ readonly turn: Turn; readonly pace?: LanePace }> {
    const nowMs = this.#clock.monotonicMs();
    block.usedAtMs = [...block.usedAtMs.filter((atMs) => nowMs - atMs < PACE_AGE_MS), nowMs];
    const left = nowMs - block.takenAtMs < PACE_AGE_MS ? block.turns.shift() : undefined;
    if (left !== undefined) return { turn: left };
    const { lane, place, tokens } = owner;
    const wanted = Math.max(block.usedAtMs.length - 1, block.waitingCount);
    const count = Math.max(1, Math.min(MAX_BLOCK_TURNS, wanted));
    const owed = Math.round(block.owedTokens);
    block.owedTokens -= owed;
    const total = count * tokens + owed;
    const pace = await this.#paces.takeTurns(lane, place, { count, tokens: total });
    const after = nextTurn(pace, place);
    const [turn, ...others] = Array.from({ length: count }, (_, index) => ({
      turn: after.turn - count + index,
      tokensBefore: after.tokensBefore - (count - index) * tokens,
    }));
    block.turns = others;
    block.takenAtMs = nowMs;
    return { turn: turn ?? after, pace };
  }
}

function keyOf(lane: string, group: string): string {
  return `${lane}#${group}`;
}
