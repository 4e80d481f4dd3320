import { LaneGovernor } from '@thrice/core';
import { MemoryLaneStates } from '../support/memory-lane-states.ts';
import { describeGovernorContract } from './governor-contract.ts';

describeGovernorContract(
  'of lanes',
  (clock) => new LaneGovernor({ states: new MemoryLaneStates(), clock, random: () => 0.5 }),
);
