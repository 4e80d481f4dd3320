import { SlotGovernor } from '../../packages/local/src/work/slot-governor.ts';
import {
  describeGovernorContract,
  describeSlotsContract,
  type OpenGovernor,
} from './governor-contract.ts';

const openSlots: OpenGovernor = (clock, slotsPerLane) => {
  const perLane = new Map([
    ['lab', slotsPerLane],
    ['openai', slotsPerLane],
  ]);
  return new SlotGovernor({ clock, total: 2 * slotsPerLane, perLane, random: () => 0 });
};

describeGovernorContract('slots of one process', openSlots);
describeSlotsContract('slots of one process', openSlots);
