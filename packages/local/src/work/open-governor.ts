import { type Benchmark, LaneGovernor, type Random, ThriceError } from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';
import { accountOf } from './lane-account.ts';

/** Opens the governor of a process that works on a group. */
export function openGovernor({
  engine: { clock, laneStates: states },
  benchmark: { lanes, parallel: total },
  random,
}: {
  readonly engine: LocalEngine;
  readonly benchmark: Benchmark;
  readonly random: Random;
}): LaneGovernor {
  const accountOfLane = (name: string) => {
    const lane = lanes.get(name);
    if (lane !== undefined) return accountOf(lane);
    throw new ThriceError({ code: 'invariant-violated', message: `no lane "${name}"` });
  };
  return new LaneGovernor({ states, clock, random, total, accountOf: accountOfLane });
}
