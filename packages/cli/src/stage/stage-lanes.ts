import type { Stage } from '@thrice/aws';
import { type Benchmark, limits, ThriceError } from '@thrice/core';

/**
 * Refuses lanes that have no queue in the stage because they were not deployed with it.
 *
 * @throws {ThriceError} `invalid-argument` for the first lane that the stage does not have.
 */
export function refuseUnknownLanes(lanes: readonly string[], stage: Stage): void {
  const known = Object.keys(stage.laneQueueUrls);
  const unknown = lanes.find((lane) => !known.includes(lane));
  if (unknown === undefined) return;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `lane "${unknown}": expected a lane of stage ${stage.stage} (${known.join(', ')}); add it to stacks/lanes.ts and deploy`,
  });
}

/**
 * Refuses lanes that work only locally: the bundled simulator, and calls that may outlast a function.
 *
 * @throws {ThriceError} `invalid-argument` for the first such lane.
 */
export function refuseUnfitLanes({ lanes, configs }: Benchmark): void {
  for (const { name, endpoints, timeoutMs } of lanes.values()) {
    if (endpoints.length === 0) {
      throw new ThriceError({
        code: 'invalid-argument',
        message: `lane "${name}": expected a base_url that the stage can reach, received none; set [lanes.${name}] base_url`,
      });
    }
    const isWaitedFor = configs.some(({ lane, isBackground }) => lane === name && !isBackground);
    if (isWaitedFor && timeoutMs > limits.stageCallMs) {
      throw new ThriceError({
        code: 'invalid-argument',
        message: `lane "${name}": expected a timeout_s of at most ${limits.stageCallMs / 1_000} in a stage, where functions run for 15 minutes, received ${timeoutMs / 1_000}; lower it in [lanes.${name}], or set background = true in its configs`,
      });
    }
  }
}
