import { LocalEngine } from '@thrice/local';
import { FakeLaneLimits } from '../support/fake-lane-limits.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeLaneLimitsContract } from './lane-limits-contract.ts';

describeLaneLimitsContract('SQLite on file, two connections', async (clock) => {
  const folder = await temporaryFolder();
  const engine = new LocalEngine(folder.path, clock);
  const other = new LocalEngine(folder.path, clock);
  return {
    limits: engine.laneLimits,
    other: other.laneLimits,
    [Symbol.asyncDispose]: async () => {
      engine[Symbol.dispose]();
      other[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});

describeLaneLimitsContract('the fake', async (clock) => {
  const limits = new FakeLaneLimits(clock);
  return { limits, other: limits, [Symbol.asyncDispose]: async () => undefined };
});
