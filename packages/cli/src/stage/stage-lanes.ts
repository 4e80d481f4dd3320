import type { Stage } from '@thrice/aws';
import { type Benchmark, limits, ThriceError } from '@thrice/core';

/**
 * Lanes are queues in a stage: one that was not deployed has none.
 *
 * @throws {ThriceError} `invalid-argument` for the first lane that the stage does not have.
 */
export function refuseUnknownLanes(lanes: readonly string[], stage: Stage): void {
  const known = Object.keys(stage.laneQueueUrls);
  const unknown = lanes.find((lane) => !known.includes(lane));
  if (unknown === undefined) return;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `lane "${unknown}": expected one of stage ${stage.stage} (${known.join(', ')}); add it to stacks/lanes.ts and deploy`,
  });
}

/**
 * Refuses what works on one machine only: the simulator that comes along, and calls that may take longer
 * than a function has.
 *
 * @throws {ThriceError} `invalid-argument` for the first lane that is unfit.
 */
export function refuseUnfitLanes({ lanes }: Benchmark): void {
  for (const { name, endpoints, timeoutMs } of lanes.values()) {
    if (endpoints.length === 0) {
      throw new ThriceError({
        code: 'invalid-argument',
        message: `lane "${name}": expected a base_url that the stage can reach, received none; set [lanes.${name}] base_url`,
      });
    }
    if (timeoutMs > limits.stageCallMs) {
      throw new ThriceError({
        code: 'invalid-argument',
        message: `lane "${name}": expected timeout_s of at most ${limits.stageCallMs / 1_000} in a stage, whose functions have 15 minutes, received ${timeoutMs / 1_000}`,
      });
    }
  }
}
