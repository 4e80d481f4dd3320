import type { OpenBreakers } from '../domain/breaker.ts';
import type { BudgetAccount } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import { countDone, countPlanned, type Tally } from '../domain/tally.ts';
import { eventsOfBudget } from './budget-events.ts';
import { areManyFailed, type GroupEvent } from './describe-event.ts';
import { blockingBreakers, type GroupProgress } from './group-progress.ts';

type ObservedProgress = Pick<GroupProgress, 'tallies' | 'isPaused'>;

/**
 * The events that the progress of a group in a stage shows since it was last looked at.
 *
 * @param before - Undefined if it was not looked at before.
 */
export function eventsOfProgress(
  header: GroupHeader,
  before: ObservedProgress | undefined,
  now: ObservedProgress,
  {
    accounts,
    openBreakers,
  }: {
    readonly accounts: readonly BudgetAccount[];
    readonly openBreakers: OpenBreakers;
  },
): readonly GroupEvent[] {
  const cells = countPlanned(header);
  const done = countDone(now.tallies);
  const failed = countFailed(now.tallies);
  const events: GroupEvent[] = [...eventsOfBudget(accounts, header)];
  const wereManyFailed =
    before !== undefined && areManyFailed({ failed: countFailed(before.tallies), cells });
  if (areManyFailed({ failed, cells }) && !wereManyFailed) {
    events.push({ kind: 'failure', cells, failed });
  }
  const blocking = blockingBreakers(header, now.tallies, openBreakers);
  if (now.isPaused && before?.isPaused !== true && blocking.length > 0) {
    events.push({
      kind: 'pause',
      cells,
      done,
      lanes: blocking.map(({ breakerKey, error, resetAt, probeAt }) => ({
        breakerKey,
        reason: error.message,
        until: resetAt ?? probeAt,
      })),
      // The reconciler opens the others by itself.
      isWaiting: blocking.every(({ error }) => error.class !== 'misconfigured'),
    });
  }
  return events;
}

/** The end of a group in a stage, by the tallies that were counted from its records. */
export function endEventOf(header: GroupHeader, tallies: readonly Tally[]): GroupEvent {
  const total = (outcome: keyof Tally['counts']) =>
    tallies.reduce((sum, { counts }) => sum + counts[outcome], 0);
  return {
    kind: 'end',
    cells: countPlanned(header),
    scored: total('scored'),
    unparsed: total('unparsed'),
    ungraded: total('ungraded'),
    failed: total('failed'),
    // Tallies do not say which calls had no price.
    costUsd: null,
  };
}

function countFailed(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, { counts }) => sum + counts.failed, 0);
}
