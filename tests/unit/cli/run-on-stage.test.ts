import {
  type DispatchRequest,
  dispatchTasks,
  type GroupHeader,
  type LoadedGroup,
  limits,
  loadGroup,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { closeBreakers } from '../../../packages/cli/src/engine/close-breakers.ts';
import { resumeOnStage } from '../../../packages/cli/src/stage/run-on-stage.ts';
import type { Dispatch } from '../../../packages/core/src/plan/dispatch-tasks.ts';
import { aGroupHeader, anOpenBreaker } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

const HOUR_MS = 3_600_000;

function groupOf(header: GroupHeader, isPlanned: boolean): LoadedGroup {
  return loadGroup({ header, isPlanned, state: 'active' });
}

/** A stage whose lane is exhausted, with a known reset in one hour. */
async function exhaustedStage(): Promise<FakeStage> {
  const stage = new FakeStage();
  const openedAt = stage.clock.toIso(stage.clock.now());
  const resetAt = stage.clock.toIso(stage.clock.now() + HOUR_MS);
  await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab', openedAt, resetAt }));
  return stage;
}

describe('closeBreakers', () => {
  it('closes every breaker of the group, and of no other lane', async () => {
    const stage = await exhaustedStage();
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab/m' }));
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'other' }));

    await closeBreakers(await stage.enter(), stage);

    const left = await stage.ledger.listOpenBreakers();
    expect(left.map(({ breakerKey }) => breakerKey)).toEqual(['other']);
  });

  it('leaves a breaker open until its known reset when asked to await it', async () => {
    const stage = await exhaustedStage();
    const header = await stage.enter();

    await closeBreakers(header, stage, { awaitsResets: true });
    const before = await stage.ledger.listOpenBreakers();
    stage.clock.advance(HOUR_MS);
    await closeBreakers(header, stage, { awaitsResets: true });

    expect(before).toHaveLength(1);
    expect(await stage.ledger.listOpenBreakers()).toEqual([]);
  });

  it('closes only the breakers of the chosen configs', async () => {
    const stage = await exhaustedStage();

    await closeBreakers(await stage.enter(), stage, { configs: [] });

    expect(await stage.ledger.listOpenBreakers()).toHaveLength(1);
  });
});

describe('a group that is resumed in a stage', () => {
  it('becomes active, enters the active groups, and gets its missing tasks requested', async () => {
    const stage = new FakeStage();
    const header = await stage.enter();
    await stage.ledger.setGroupState(header.group, 'cancelled');
    await stage.activeGroups.defer('lab', header.group);

    await resumeOnStage(groupOf(header, true), stage);

    expect(await stage.ledger.readGroup(header.group)).toMatchObject({ state: 'active' });
    expect(await stage.activeGroup()).toContain(header.group);
    expect(stage.requests.tasks).toEqual([{ v: 1, group: header.group, kind: 'refill' }]);
    expect(await stage.deferred()).toEqual([]);
  });

  it('keeps cells deferred whose lane stays blocked', async () => {
    const stage = await exhaustedStage();
    const header = { ...(await stage.enter()), waitForQuota: true };
    await stage.activeGroups.defer('lab', header.group);
    await stage.activeGroups.defer('lab', 'other');

    await resumeOnStage(groupOf(header, true), stage);

    expect(await stage.deferred()).toEqual(
      expect.arrayContaining([`lab ${header.group}`, 'lab other']),
    );
  });

  it('is planned again when its plan is incomplete', async () => {
    const stage = new FakeStage();
    const header = await stage.enter({ isPlanned: false });

    await resumeOnStage(groupOf(header, false), stage);

    expect(stage.requests.tasks).toEqual([{ v: 1, group: header.group, kind: 'plan' }]);
  });

  it('is planned anew although a worker has planned it since before it was cancelled', async () => {
    const stage = new FakeStage();
    const ids = Array.from({ length: 2 * limits.pageSize }, (_, at) => `q${at}`);
    const header = await stage.enter({ ids, isPlanned: false });
    const plan: DispatchRequest = { v: 1, group: header.group, kind: 'plan' };
    const { send } = stage.queue;
    let resumed: Dispatch | undefined;
    stage.queue.send = async (...tasks) => {
      await send.apply(stage.queue, tasks);
      stage.queue.send = send;
      await stage.ledger.setGroupState(header.group, 'cancelled');
      const record = await stage.ledger.readGroup(header.group);
      if (record !== undefined) await resumeOnStage(loadGroup(record), stage);
      resumed = await dispatchTasks(plan, workPartOptions(), stage);
    };

    await dispatchTasks(plan, workPartOptions(), stage).catch(() => undefined);

    expect(resumed).toEqual({ kind: 'sent', sentCount: ids.length });
  });

  it('is refused, with nothing changed, when a lane has no URL', async () => {
    const stage = new FakeStage();
    const entered = await stage.enter();
    const spec = { ...entered.spec, lanes: {}, configs: aGroupHeader().spec.configs };
    const simulated = spec.configs.map((config) => ({ ...config, model: 'sim/a' }));
    const header = { ...entered, spec: { ...spec, configs: simulated } };

    await expect(resumeOnStage(groupOf(header, true), stage)).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    expect(stage.requests.tasks).toEqual([]);
  });
});
