import { isCallFor } from '../calls/fingerprint.ts';
import type { Journal, JournalEntry } from '../domain/call.ts';
import type { CreateDigest } from '../ports/digest.ts';
import type { SolverMove, StepCall } from '../ports/solver.ts';
import type { GradeMove } from './grade-moves.ts';

/** What asks the calls of a cell one after the other; undefined where nothing can be asked. */
export type NextMove = (journal: Journal) => Promise<SolverMove | GradeMove | undefined>;

/** A recorded call, and the one that is asked for its step. */
export interface ReplayedCall extends StepCall {
  readonly entry: JournalEntry;
  /** Whether it was made for that. If not, the question or the answer is another one by now. */
  readonly isOwn: boolean;
}

/**
 * Asks the calls of a cell again, and takes each from its journal. Ends at the first that is not recorded.
 *
 * @param recorded - In the order in which they were recorded.
 */
export async function* replayCalls(
  nextMove: NextMove,
  recorded: Journal,
  createDigest: CreateDigest,
): AsyncIterable<ReplayedCall> {
  let journal: Journal = new Map();
  while (journal.size < recorded.size) {
    const call = callOf(await nextMove(journal), recorded);
    const entry = call && recorded.get(call.step);
    if (call === undefined || entry === undefined) return;
    const { step, request } = call;
    yield { step, request, entry, isOwn: isCallFor(request, entry, createDigest) };
    journal = new Map([...journal, [step, entry]]);
  }
}

/** The call that was made for a move; undefined if none is recorded. */
function callOf(move: SolverMove | GradeMove | undefined, recorded: Journal): StepCall | undefined {
  if (move?.kind !== 'call') return undefined;
  return [move, ...(move.otherwise ?? [])].find(({ step }) => recorded.has(step));
}
