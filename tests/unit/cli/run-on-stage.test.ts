import { describe, expect, it } from 'vitest';
import { closeBreakers } from '../../../packages/cli/src/engine/close-breakers.ts';
import { resumeOnStage } from '../../../packages/cli/src/stage/run-on-stage.ts';
import { aGroupHeader, anOpenBreaker } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';

const HOUR_MS = 3_600_000;

/** A stage whose lane is exhausted until a known hour. */
async function exhaustedStage(): Promise<FakeStage> {
  const stage = new FakeStage();
  const openedAt = stage.clock.toIso(stage.clock.now());
  const resetAt = stage.clock.toIso(stage.clock.now() + HOUR_MS);
  await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab', openedAt, resetAt }));
  return stage;
}

describe('lanes of a group that is set to work by hand', () => {
  it('open, whatever closed them, and no other lane', async () => {
    const stage = await exhaustedStage();
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab/m' }));
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'other' }));

    await closeBreakers(await stage.enter(), stage);

    const left = await stage.ledger.listOpenBreakers();
    expect(left.map(({ breakerKey }) => breakerKey)).toEqual(['other']);
  });

  it('stay closed until a reset that is believed', async () => {
    const stage = await exhaustedStage();
    const header = await stage.enter();

    await closeBreakers(header, stage, { believesResets: true });
    const before = await stage.ledger.listOpenBreakers();
    stage.clock.advance(HOUR_MS);
    await closeBreakers(header, stage, { believesResets: true });

    expect(before).toHaveLength(1);
    expect(await stage.ledger.listOpenBreakers()).toEqual([]);
  });

  it('are only those of the configs that go on', async () => {
    const stage = await exhaustedStage();

    await closeBreakers(await stage.enter(), stage, { configs: [] });

    expect(await stage.ledger.listOpenBreakers()).toHaveLength(1);
  });
});

describe('a group that is resumed in a stage', () => {
  it('is active and watched, and what is missing is asked for', async () => {
    const stage = new FakeStage();
    const header = await stage.enter();
    await stage.ledger.setGroupState(header.group, 'cancelled');
    await stage.activeGroups.defer('lab', header.group);

    await resumeOnStage(header, true, stage);

    expect(await stage.ledger.readGroup(header.group)).toMatchObject({ state: 'active' });
    expect(await stage.activeGroup()).toContain(header.group);
    expect(stage.requests.tasks).toEqual([{ v: 1, group: header.group, kind: 'refill' }]);
    expect(await stage.deferred()).toEqual([]);
  });

  it('leaves deferred what waits for a lane that stays closed', async () => {
    const stage = await exhaustedStage();
    const header = { ...(await stage.enter()), waitForQuota: true };
    await stage.activeGroups.defer('lab', header.group);
    await stage.activeGroups.defer('lab', 'other');

    await resumeOnStage(header, true, stage);

    expect(await stage.deferred()).toEqual(
      expect.arrayContaining([`lab ${header.group}`, 'lab other']),
    );
  });

  it('is planned anew where its plan was cut off', async () => {
    const stage = new FakeStage();
    const header = await stage.enter({ isPlanned: false });

    await resumeOnStage(header, false, stage);

    expect(stage.requests.tasks).toEqual([{ v: 1, group: header.group, kind: 'plan' }]);
  });

  it('is refused, with nothing changed, where a lane has no address', async () => {
    const stage = new FakeStage();
    const entered = await stage.enter();
    const spec = { ...entered.spec, lanes: {}, configs: aGroupHeader().spec.configs };
    const simulated = spec.configs.map((config) => ({ ...config, model: 'sim/a' }));
    const header = { ...entered, spec: { ...spec, configs: simulated } };

    await expect(resumeOnStage(header, true, stage)).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    expect(stage.requests.tasks).toEqual([]);
  });
});
