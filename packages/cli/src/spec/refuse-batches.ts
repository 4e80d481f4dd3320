import { type Benchmark, ThriceError } from '@thrice/core';

/**
 * Refuses a group whose lanes answer in batches for a stage, which sends none.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseBatchesInStage({ lanes }: Pick<Benchmark, 'lanes'>): void {
  const lane = [...lanes.values()].find(({ batch }) => batch !== undefined);
  if (lane === undefined) return;
  throw new ThriceError({
    code: 'unsupported',
    message: `lanes.${lane.name}.batch: expected live calls for a stage, received batches, which this version only sends from one machine; run it without --stage, or leave batch out`,
  });
}
