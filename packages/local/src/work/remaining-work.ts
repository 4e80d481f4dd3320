import type { BudgetRefusal, OpenBreaker } from '@thrice/core';
import type { Backlog } from '../store/sqlite-task-queue.ts';
import type { GroupBatches } from './group-batches.ts';
import type { GroupBreakers } from './group-breakers.ts';
import type { GroupBudget } from './group-budget.ts';
import type { Ending, WorkGroupOptions } from './work-group-options.ts';

/** What the remaining work may have to wait for. */
export interface Obstacles {
  readonly breakers: GroupBreakers;
  readonly budget: GroupBudget | undefined;
  readonly batches: GroupBatches;
}

/** The part of a backlog that is worked on. */
export function ownOf(
  backlog: readonly Backlog[],
  { runs, configs }: WorkGroupOptions['scope'],
): readonly Backlog[] {
  return backlog.filter(({ run, config }) => runs.includes(run) && configs.includes(config));
}

/**
 * How the work ends by what remains of it while no cell is in flight.
 *
 * @returns Undefined while there is work, or something to wait for.
 */
export async function endingOf(
  backlog: readonly Backlog[],
  { breakers: group, budget, batches }: Obstacles,
): Promise<Ending | undefined> {
  if (backlog.length === 0) return { kind: 'complete' };
  const openBreakers = new Map<string, OpenBreaker>();
  let refused: BudgetRefusal | undefined;
  for (const each of backlog) {
    const refusal = budget?.refusalOf(each.config);
    refused ??= refusal;
    if (refusal !== undefined) continue;
    const breakers = group.blockersOf(each);
    if (breakers.length === 0) return undefined;
    if (breakers.some((breaker) => group.isWaitedFor(breaker))) return undefined;
    for (const breaker of breakers) openBreakers.set(breaker.breakerKey, breaker);
  }
  if (await batches.hasOpen()) return undefined;
  return { kind: 'paused', openBreakers: [...openBreakers.values()], budget: refused };
}

/** When the next task that nothing stops is visible, ms since 1970; infinity if there is none. */
export function nextVisibleAtMs(
  backlog: readonly Backlog[],
  { breakers, budget }: Pick<Obstacles, 'breakers' | 'budget'>,
): number {
  const visibleAtMs = backlog
    .filter(({ config }) => !breakers.isBlocked(config))
    .filter(({ config }) => budget?.refusalOf(config) === undefined)
    .map(({ nextVisibleAtMs: atMs }) => atMs);
  return Math.min(...visibleAtMs);
}
