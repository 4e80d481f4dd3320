import type { Delivery } from '@thrice/core';
import type { SqliteTaskQueue } from '../store/sqlite-task-queue.ts';
import type { CellsInFlight } from './cells-in-flight.ts';
import type { GroupBreakers } from './group-breakers.ts';
import type { GroupBudget } from './group-budget.ts';
import type { WorkOrder } from './work-order.ts';

/** Cells in flight beyond the slots, as a ratio: they are claimed or completed while others call. */
const AHEAD_RATIO = 2;

/** What cells are started with. */
export interface CellStarting {
  readonly order: Pick<WorkOrder, 'benchmark' | 'scope'>;
  readonly queue: SqliteTaskQueue;
  readonly laneLimits: ReadonlyMap<string, number>;
  readonly inFlight: CellsInFlight;
  readonly breakers: GroupBreakers;
  readonly budget: GroupBudget | undefined;
}

/** Receives and starts as many cells as there is room for. Returns how many it started. */
export async function startCells(starting: CellStarting): Promise<number> {
  const { order, queue, laneLimits, inFlight } = starting;
  const counts = await Promise.all(
    [...laneLimits].map(async ([lane, slots]) => {
      const probeCount = await startProbes(lane, starting);
      const room = Math.ceil(slots * (1 + AHEAD_RATIO)) - inFlight.countOn(lane);
      if (room <= 0) return probeCount;
      const configs = unblockedConfigs(lane, starting);
      if (configs.length === 0) return probeCount;
      const deliveries = await queue.receive(lane, room, { runs: order.scope.runs, configs });
      for (const delivery of deliveries) start(delivery, starting);
      return probeCount + deliveries.length;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Starts one cell for each half-open breaker that has no probe yet. Returns how many it started. */
async function startProbes(lane: string, starting: CellStarting): Promise<number> {
  const { order, queue, breakers } = starting;
  if (!breakers.hasHalfOpen) return 0;
  let count = 0;
  for (const config of configsOf(lane, starting)) {
    if (!breakers.isReadyForProbe(config)) continue;
    const scope = { runs: order.scope.runs, configs: [config] };
    const [delivery] = await queue.receive(lane, 1, scope);
    if (delivery === undefined) continue;
    breakers.startProbe(delivery);
    start(delivery, starting);
    count += 1;
  }
  return count;
}

/** The configs of a lane that neither a breaker nor the budget stops. */
function unblockedConfigs(lane: string, starting: CellStarting): readonly string[] {
  return configsOf(lane, starting).filter((config) => starting.breakers.isUnblocked(config));
}

/** The configs of a lane that are worked on and that the budget does not stop. */
function configsOf(lane: string, { order, budget }: CellStarting): readonly string[] {
  return order.benchmark.configs
    .filter((config) => config.lane === lane && order.scope.configs.includes(config.name))
    .map(({ name }) => name)
    .filter((config) => budget?.refusalOf(config) === undefined);
}

function start(delivery: Delivery, { breakers, inFlight }: CellStarting): void {
  breakers.start(delivery);
  inFlight.start(delivery);
}
