import { SlotGovernor } from '@thrice/local';
import { describeGovernorContract } from './governor-contract.ts';

describeGovernorContract('slots of one process', async (clock, slotsPerLane) => {
  const perLane = new Map([
    ['lab', slotsPerLane],
    ['openai', slotsPerLane],
  ]);
  const total = 2 * slotsPerLane;
  return await Promise.resolve(new SlotGovernor({ clock, total, perLane, random: () => 0 }));
});
