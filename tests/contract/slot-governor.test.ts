import { SlotGovernor } from '@thrice/local';
import { describeGovernorContract } from './governor-contract.ts';

describeGovernorContract('slots of one process', async (clock, slotsPerLane) => {
  const perLane = new Map([
    ['lab', slotsPerLane],
    ['openai', slotsPerLane],
  ]);
  return await Promise.resolve(new SlotGovernor({ clock, total: 2 * slotsPerLane, perLane }));
});
