import { describe, expect, it } from 'vitest';
import { closeBreakers } from '../../../packages/cli/src/engine/close-breakers.ts';
import type { ConfigSpec } from '../../../packages/core/src/domain/benchmark-spec.ts';
import { aGroupHeader, anOpenBreaker } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';

/** The breakers that stay open when a group with one config is resumed. */
async function openAfterResume(own: Partial<ConfigSpec>): Promise<readonly string[]> {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  for (const breakerKey of ['lab', 'lab/n', 'spare']) {
    await ledger.openBreaker(anOpenBreaker({ breakerKey, resetAt: null }));
  }
  const { spec } = aGroupHeader();
  const [config] = spec.configs;
  if (config === undefined) throw new Error('expected a config');
  const configs = [{ ...config, ...own }];

  await closeBreakers(aGroupHeader({ spec: { ...spec, configs } }), { ledger, clock });

  return (await ledger.listOpenBreakers()).map(({ breakerKey }) => breakerKey);
}

describe('resuming a group', () => {
  it('closes the breakers of the lanes of its configs', async () => {
    expect(await openAfterResume({ model: 'lab/m' })).toEqual(['spare']);
  });

  it('closes those of every lane that a solver of several models calls', async () => {
    const models = ['lab/m', 'spare/m'];

    expect(await openAfterResume({ solver: 'router', model: undefined, models })).toEqual([]);
  });
});
