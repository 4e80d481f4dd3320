import { describe, expect, it } from 'vitest';
import { refuseMissingKeys } from '../../../packages/cli/src/local/refuse-missing-keys.ts';
import { aBenchmark, aConfig, aLane, aPlannedConfig, aRole } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

describe('work on a group whose keys are not set here', () => {
  it('is refused for the lane of any of its models, and not for a config without cells', () => {
    const judge = aRole({ step: 'judge', lane: 'keyed' });
    const benchmark = aBenchmark({
      configs: [aConfig({ name: 'judged', roles: [aRole(), judge] })],
      lanes: new Map([
        ['lab', aLane()],
        ['keyed', aLane({ name: 'keyed', apiKeyEnv: 'THRICE_TEST_UNSET_KEY' })],
      ]),
    });
    const refuse = (cells: number) =>
      refuseMissingKeys(
        { configs: [aPlannedConfig({ config: 'judged', cells })] },
        benchmark,
        fakeTerminal(),
      );

    expect(() => refuse(0)).not.toThrow();
    expect(() => refuse(1)).toThrow(
      expect.objectContaining({
        code: 'missing-key',
        message: expect.stringContaining('lane keyed') as string,
      }),
    );
  });
});
