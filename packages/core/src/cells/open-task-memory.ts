import { LaneGovernor } from '../lanes/lane-governor.ts';
import { LaneHealth } from '../lanes/lane-health.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { LaneStates } from '../ports/lane-states.ts';
import type { Random } from '../ports/random.ts';
import { RecentGroups } from './recent-groups.ts';

/** What a process of a stage knows over all of its tasks: a function's execution environment, or a machine that helps. */
export interface TaskMemory {
  /** Grants the calls of rate-limited lanes together with all other workers. */
  readonly governor: LaneGovernor;
  readonly recentGroups: RecentGroups;
  /** What its calls have shown. */
  readonly laneHealth: LaneHealth;
}

/** Opens the memory of a process that knows nothing yet. */
export function openTaskMemory(init: {
  readonly states: LaneStates;
  readonly clock: Clock;
  readonly random: Random;
}): TaskMemory {
  const governor = new LaneGovernor({ ...init, longestWaitMs: limits.laneWaitMs });
  const recentGroups = new RecentGroups({ clock: init.clock, governor });
  return { governor, recentGroups, laneHealth: new LaneHealth(init) };
}
