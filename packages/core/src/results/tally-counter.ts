import { type Call, isAnswer, spendOf } from '../domain/call.ts';
import { type CellRow, countRetries } from '../domain/cell.ts';
import { AWAITING_JUDGE } from '../domain/grade.ts';
import type { Tally } from '../domain/tally.ts';

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type MutableTally = Mutable<Omit<Tally, 'counts'>> & { readonly counts: Mutable<Tally['counts']> };

/** Recounts tallies from the rows of a group. Every run and config with a row gets a tally. */
export class TallyCounter {
  readonly #tallies = new Map<string, MutableTally>();

  /** @param from - The tallies of another counter, to continue with. @default no rows added */
  constructor(from: readonly Tally[] = []) {
    for (const tally of from) {
      const { run, config, counts } = tally;
      this.#tallies.set(JSON.stringify([run, config]), { ...tally, counts: { ...counts } });
    }
  }

  add(row: CellRow): void {
    const { run, config, outcome, score, reason, grading, calls } = row;
    const tally = this.#tallyOf(run, config);
    for (const call of calls) {
      if (isAnswer(call)) continue;
      const { costUsd, unpricedCalls } = spendOf([call]);
      tally.costUsd += costUsd;
      tally.wasteUsd += costUsd;
      tally.unpricedCalls += unpricedCalls;
    }
    if (outcome === 'not-attempted') return;
    tally.counts[outcome] += 1;
    if (reason === AWAITING_JUDGE) tally.toGrade += 1;
    if (score === 1) tally.correct += 1;
    // What a cell has paid for is counted when it is done.
    const isPending = (call: Call) => reason === AWAITING_JUDGE && call.grading === grading.judges;
    const done = calls.filter((call) => isAnswer(call) && !isPending(call));
    const { costUsd, overheadUsd, unpricedCalls } = spendOf(done);
    tally.costUsd += costUsd;
    tally.overheadUsd += overheadUsd;
    tally.unpricedCalls += unpricedCalls;
    tally.retries += countRetries(row);
  }

  /** Returns the tallies counted so far. */
  tallies(): readonly Tally[] {
    return [...this.#tallies.values()];
  }

  #tallyOf(run: string, config: string): MutableTally {
    const key = JSON.stringify([run, config]);
    const tally = this.#tallies.get(key) ?? emptyTally(run, config);
    this.#tallies.set(key, tally);
    return tally;
  }
}

function emptyTally(run: string, config: string): MutableTally {
  return {
    run,
    config,
    counts: { scored: 0, unparsed: 0, ungraded: 0, failed: 0 },
    toGrade: 0,
    correct: 0,
    costUsd: 0,
    wasteUsd: 0,
    overheadUsd: 0,
    unpricedCalls: 0,
    retries: 0,
  };
}
