import { describe, expect, it } from 'vitest';
import {
  refuseUnfitLanes,
  refuseUnknownLanes,
} from '../../../packages/cli/src/stage/stage-lanes.ts';
import { aBenchmark, aConfig, aLane } from '../../support/builders.ts';

const stage = {
  stage: 'dev',
  tableName: 'table',
  bucketName: 'bucket',
  laneQueueUrls: { openai: 'https://queue/openai', sim: 'https://queue/sim' },
  deadLetterQueueUrl: 'https://queue/dead',
  controlDeadLetterQueueUrl: 'https://queue/control-dead',
  planQueueUrl: 'https://queue/plan',
  finalizeQueueUrl: 'https://queue/finalize',
};

function lanesOf(...lanes: readonly ReturnType<typeof aLane>[]) {
  return aBenchmark({ lanes: new Map(lanes.map((lane) => [lane.name, lane])) });
}

describe('the lanes of a group in a stage', () => {
  it('must be deployed with the stage', () => {
    refuseUnknownLanes(['sim', 'openai'], stage);

    expect(() => refuseUnknownLanes(['sim', 'lab'], stage)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message:
          'lane "lab": expected a lane of stage dev (openai, sim); add it to stacks/lanes.ts and deploy',
      }),
    );
  });

  it('must have a URL, because a stage does not start the simulator', () => {
    expect(() => refuseUnfitLanes(lanesOf(aLane(), aLane({ name: 'sim', endpoints: [] })))).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message:
          'lane "sim": expected a base_url that the stage can reach, received none; set [lanes.sim] base_url',
      }),
    );
  });

  it('must have calls that end before their function does', () => {
    refuseUnfitLanes(lanesOf(aLane({ timeoutMs: 840_000 })));

    expect(() => refuseUnfitLanes(lanesOf(aLane({ timeoutMs: 841_000 })))).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message:
          'lane "lab": expected a timeout_s of at most 840 in a stage, where functions run for 15 minutes, received 841; lower it in [lanes.lab], or set background = true in its configs',
      }),
    );
  });

  it('may have answers in the background that take a day', () => {
    const lane = aLane({ protocol: 'responses', timeoutMs: 86_400_000 });
    const configs = [aConfig({ isBackground: true })];

    expect(() => refuseUnfitLanes({ ...lanesOf(lane), configs })).not.toThrow();
    expect(() =>
      refuseUnfitLanes({ ...lanesOf(lane), configs: [...configs, aConfig({ name: 'other' })] }),
    ).toThrow('timeout_s of at most 840');
  });
});
