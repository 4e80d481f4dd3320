import type { JournalEntry } from '../domain/call.ts';
import type { SolverInput, SolverMove } from '../ports/solver.ts';
import { callOf, withoutRole } from './request-of.ts';

/** The recorded calls of the members, in their order, or the call of the first that is not recorded. */
export type Members =
  | { readonly kind: 'recorded'; readonly entries: readonly [JournalEntry, ...JournalEntry[]] }
  | { readonly kind: 'missing'; readonly move: SolverMove };

/** Collects the answers of a config's members. They do not depend on each other. */
export function membersOf({ config, journal, render }: SolverInput): Members {
  const entries: JournalEntry[] = [];
  for (const role of config.roles.filter(({ step }) => step.startsWith('member-'))) {
    const entry = journal.get(role.step);
    if (entry === undefined) {
      return { kind: 'missing', move: { kind: 'call', ...callOf(role, render(role)) } };
    }
    entries.push(entry);
  }
  const [first, ...others] = entries;
  if (first === undefined) throw withoutRole(config.solver, 'member-1');
  return { kind: 'recorded', entries: [first, ...others] };
}
