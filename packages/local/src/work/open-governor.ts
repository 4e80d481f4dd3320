import type { Benchmark, Random } from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';
import { LaneShare } from './lane-share.ts';
import { SlotGovernor, slotsPerLane } from './slot-governor.ts';

/** Opens the governor of a process that works on a group: its slots, and its share in the limits of each lane. */
export function openGovernor({
  engine,
  benchmark,
  group,
  random,
}: {
  readonly engine: LocalEngine;
  readonly benchmark: Benchmark;
  readonly group: string;
  readonly random: Random;
}): SlotGovernor {
  const { clock, laneLimits: limits, workers } = engine;
  const { owner } = workers;
  const shares = [...benchmark.lanes].map(
    ([name, lane]) => [name, new LaneShare({ lane, owner, group, limits, clock })] as const,
  );
  return new SlotGovernor({
    clock,
    total: benchmark.parallel,
    perLane: slotsPerLane(benchmark),
    random,
    shares: new Map(shares),
  });
}
