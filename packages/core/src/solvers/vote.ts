import type { JournalEntry } from '../domain/call.ts';
import type { Solver, SolverInput } from '../ports/solver.ts';
import { membersOf } from './members-of.ts';
import { answerOf } from './request-of.ts';

/** Sums of weights are equal up to what adding them in another order changes. */
const TIE_RATIO = 1e-9;

/**
 * Asks several members, or one model several times, and takes the answer that most of them give, as the scorer reads it.
 *
 * A member whose text gives no answer has no vote. Of answers with as many votes, the one that a member gave first
 * counts; if no member gives one, the first member's text does.
 */
export const voteSolver: Solver = {
  kind: 'vote',
  next: async (input) => {
    const members = membersOf(input);
    if (members.kind === 'missing') return members.move;
    return answerOf((await winnerOf(members.entries, input)) ?? members.entries[0]);
  },
};

/** The first member that gave the winning answer; undefined if none gave one. */
async function winnerOf(
  entries: readonly JournalEntry[],
  { config, answers }: SolverInput,
): Promise<JournalEntry | undefined> {
  const { weights } = config.combination;
  const ballots = new Map<string, { readonly first: JournalEntry; votes: number }>();
  for (const [index, entry] of entries.entries()) {
    const answer = await answers.read(entry);
    if (answer === undefined) continue;
    const ballot = ballots.get(answer) ?? { first: entry, votes: 0 };
    ballot.votes += weights?.[index] ?? 1;
    ballots.set(answer, ballot);
  }
  let best: { readonly first: JournalEntry; readonly votes: number } | undefined;
  // In the order in which they were first given.
  for (const ballot of ballots.values()) {
    if (best === undefined || ballot.votes > best.votes * (1 + TIE_RATIO)) best = ballot;
  }
  return best?.first;
}
