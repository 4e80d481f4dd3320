import { describe, expect, it } from 'vitest';
import { refuseBatchesInStage } from '../../../packages/cli/src/spec/refuse-batches.ts';
import { aBenchmark, aLane } from '../../support/builders.ts';

describe('a stage', () => {
  it('takes a group whose lanes make live calls', () => {
    expect(() => refuseBatchesInStage(aBenchmark())).not.toThrow();
  });

  it('refuses a group with a lane that answers in batches, and says what to do', () => {
    const lanes = new Map([['lab', aLane({ batch: { otherwise: 'live' } })]]);

    expect(() => refuseBatchesInStage(aBenchmark({ lanes }))).toThrow(
      'lanes.lab.batch: expected live calls for a stage, received batches, which this version only sends from one machine; run it without --stage, or leave batch out',
    );
  });
});
