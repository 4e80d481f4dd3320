import { SharedGovernor } from '@thrice/core';
import { FakeLanePaces } from '../support/fake-lane-paces.ts';
import { FakeLaneSlots } from '../support/fake-lane-slots.ts';
import { describeGovernorContract } from './governor-contract.ts';

describeGovernorContract('the workers of a stage', (clock) =>
  new SharedGovernor({
    paces: new FakeLanePaces(),
    slots: new FakeLaneSlots(),
    clock,
    random: () => 0.5,
    createToken: () => 'token',
  }).forCell(),
);
